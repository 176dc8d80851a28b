package checker

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// validHistory makes the history of a sound lock: clients that all want it and
// are served in turn, each reading and writing under its grant.
func validHistory(events, clients, keys int) Input {
	var in Input
	type client struct{ n int }
	state := make([]client, clients)
	value := make([]string, keys)
	token := make([]int64, keys)
	var now, seq int64
	ev := func(e history.Event) {
		now += 20_000
		e.Time, e.Index = now, int64(len(in.Events))
		in.Events = append(in.Events, e)
	}
	next := 0
	// All ask for the first time.
	for c := range clients {
		ev(history.Event{Process: fmt.Sprintf("c%d", c+1), Type: history.Invoke, F: history.Acquire, Key: fmt.Sprintf("k%d", c%keys)})
	}
	for len(in.Events) < events {
		c := next % clients
		next++
		k := c % keys
		p, key := fmt.Sprintf("c%d", c+1), fmt.Sprintf("k%d", k)
		state[c].n++
		token[k]++
		g := fmt.Sprintf("%s.%d", p, state[c].n)
		base := history.Event{Process: p, Key: key, Grant: g}
		do := func(typ history.Type, f string, change func(*history.Event)) {
			e := base
			e.Type, e.F = typ, f
			if change != nil {
				change(&e)
			}
			ev(e)
		}
		eff := func(f, v string) {
			seq++
			in.Effects = append(in.Effects, history.Effect{Seq: seq, Time: now + 10_000, Process: p, F: f, Key: key, Grant: g, Token: token[k], Value: v})
		}
		do(history.OK, history.Acquire, func(e *history.Event) { e.Token, e.Since, e.Lease = token[k], now-10_000, 1e9 })
		do(history.Invoke, history.Read, nil)
		eff(history.Read, value[k])
		do(history.OK, history.Read, func(e *history.Event) { e.Value = value[k] })
		v := fmt.Sprintf("%s.1", g)
		do(history.Invoke, history.Write, func(e *history.Event) { e.Value = v })
		eff(history.Write, v)
		value[k] = v
		do(history.OK, history.Write, func(e *history.Event) { e.Value = v })
		do(history.Invoke, history.Release, nil)
		do(history.OK, history.Release, func(e *history.Event) { e.Held = true })
		do(history.Invoke, history.Acquire, func(e *history.Event) { e.Grant = "" })
	}
	return in
}

// TestMillionEvents: time and memory stay near-linear on a long valid history.
func TestMillionEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("a million events")
	}
	var small time.Duration
	for _, n := range []int{100_000, 1_000_000} {
		in := validHistory(n, 50, 1)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		v := Check(in)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		t.Logf("%d events, %d grants: %v, %.0f ns an event, %d MB allocated (%d MB live before)", v.Stats.Events, v.Stats.Grants,
			took.Round(time.Millisecond), float64(took.Nanoseconds())/float64(n), (after.TotalAlloc-before.TotalAlloc)>>20, before.HeapAlloc>>20)
		if v.Valid != True || v.Stats.Contested == 0 {
			t.Fatalf("valid %v: %s %v", v.Valid, v.Why, v.Properties)
		}
		if small == 0 {
			small = took
		} else if took > 5*10*small+5*time.Second {
			t.Errorf("ten times the events took %v after %v", took, small)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	in := validHistory(100_000, 50, 1)
	b.ReportAllocs()
	for b.Loop() {
		Check(in)
	}
}

// TestBrokenHistoriesStayFast: accusing, not knowing and being under fault cost
// no more than a small factor.
func TestBrokenHistoriesStayFast(t *testing.T) {
	if testing.Short() {
		t.Skip("a million events in all")
	}
	const n = 200_000
	start := time.Now()
	Check(validHistory(n, 50, 1))
	valid := time.Since(start)

	for _, c := range []struct {
		name   string
		change func(*Input)
	}{
		{"no release is ever seen", func(in *Input) {
			in.Events = slices.DeleteFunc(in.Events, func(e history.Event) bool { return e.F == history.Release })
		}},
		{"no log", func(in *Input) { in.Effects = nil }},
		{"tokens fall", func(in *Input) {
			for i := range in.Events {
				if in.Events[i].Token > 0 {
					in.Events[i].Token = 1_000_000 - in.Events[i].Token
				}
			}
		}},
		{"outcomes unknown", func(in *Input) {
			k := 0
			in.Events = slices.DeleteFunc(in.Events, func(e history.Event) bool {
				k++
				return e.Type == history.OK && e.F == history.Write && k%100 == 0
			})
		}},
		{"2,000 faults, none healed", func(in *Input) {
			for i := range 2000 {
				in.Events = append(in.Events, history.Event{Time: int64(i), Process: history.Nemesis, Type: history.Info, F: "pause", Nodes: []string{fmt.Sprint(i)}, Phase: history.Begin, Confirmed: true})
			}
			history.Sort(in.Events)
		}},
	} {
		in := validHistory(n, 50, 1)
		c.change(&in)
		start := time.Now()
		v := Check(in)
		took := time.Since(start)
		t.Logf("%s: %v (valid: %v), %d anomalies, %v", c.name, took.Round(time.Millisecond), valid.Round(time.Millisecond), len(v.Anomalies), v.Valid)
		if took > 25*valid+5*time.Second {
			t.Errorf("%s: %v, the valid history %v", c.name, took, valid)
		}
	}
}
