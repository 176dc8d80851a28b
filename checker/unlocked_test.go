package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestContestedUpdates compares the count with that of all pairs.
func TestContestedUpdates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 500 {
		in := Input{Options: Options{NoLock: true}}
		type turn struct {
			process  string
			from, to int64
			ok       bool
		}
		var turns []turn
		for p := range 3 {
			at := int64(0)
			for range rng.IntN(5) {
				tn := turn{process: fmt.Sprint("c", p), from: at + rng.Int64N(4), ok: rng.IntN(3) > 0}
				tn.to = tn.from + 1 + rng.Int64N(4)
				at = tn.to
				turns = append(turns, tn)
				e := history.Event{Time: tn.from, Process: tn.process, Type: history.Invoke, F: history.Add, Key: "k", Value: fmt.Sprintf("%s.%d", tn.process, tn.from)}
				in.Events = append(in.Events, e)
				e.Time, e.Type = tn.to, history.OK
				if !tn.ok {
					e.Type = history.Fail
				}
				in.Events = append(in.Events, e)
			}
		}
		slices.SortStableFunc(in.Events, byTime)
		for i := range in.Events {
			in.Events[i].Index = int64(i)
		}
		want := 0
		for _, a := range turns {
			if a.ok && slices.ContainsFunc(turns, func(b turn) bool { return a.process != b.process && a.from < b.to && b.from < a.to }) {
				want++
			}
		}
		if got := contestedUpdates(analysed(in).locks); got != want {
			t.Fatalf("history %d: %d contested, want %d: %+v", n, got, want, turns)
		}
	}
}

// TestUnlockedRequire: what cannot be judged is not true because nobody broke it.
func TestUnlockedRequire(t *testing.T) {
	in := script(t, "options nolock=yes require=belief\n0.1-0.4 c1 add value=a @0.2\n0.1-0.4 c2 add value=b parent=a @0.3\n")
	if v := Check(in); v.Valid != Unknown || !v.Properties[Belief].Required {
		t.Errorf("%v: %s", v.Valid, v.Why)
	}
	in.Options.Require = nil
	if v := Check(in); v.Valid != True || v.Stats.Acknowledged != 2 || v.Stats.Contested != 2 || v.Stats.Grants != 0 {
		t.Errorf("%v: %s %+v", v.Valid, v.Why, v.Stats)
	}
}

// TestUnlockedLostUpdates compares with what the log itself says: the final value's
// chain of parents holds every update that is not lost.
func TestUnlockedLostUpdates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	broken := 0
	for n := range 500 {
		in := Input{Options: Options{NoLock: true}}
		values := []string{""}
		parents := map[string]string{}
		acked := map[string]bool{}
		for i := range 1 + rng.IntN(12) {
			value, process := fmt.Sprint("v", i), fmt.Sprint("c", rng.IntN(3))
			parent := values[len(values)-1]
			if rng.IntN(6) == 0 {
				parent = values[rng.IntN(len(values))]
			}
			values, parents[value], acked[value] = append(values, value), parent, rng.IntN(4) > 0
			at := int64(10 * (i + 1))
			e := history.Event{Time: at, Process: process, Type: history.Invoke, F: history.Add, Key: "k", Value: value}
			in.Events = append(in.Events, e)
			if e.Time, e.Type = at+5, history.OK; !acked[value] {
				e.Type = history.Info
			}
			in.Events = append(in.Events, e)
			in.Effects = append(in.Effects, history.Effect{Seq: int64(i + 1), Time: at + 2, Process: process, F: history.Add, Key: "k", Value: value, Parent: parent})
		}
		for i := range in.Events {
			in.Events[i].Index = int64(i)
		}
		kept := map[string]bool{}
		for v := values[len(values)-1]; v != ""; v = parents[v] {
			kept[v] = true
		}
		lost := 0
		for v, ok := range acked {
			if ok && !kept[v] {
				lost++
			}
		}
		v := Check(in)
		if v.Stats.LostUpdates != lost || (v.Valid == False) != (lost > 0) {
			t.Fatalf("history %d: %v, %d lost, want %d: %+v", n, v.Valid, v.Stats.LostUpdates, lost, in.Effects)
		}
		if lost > 0 {
			broken++
		}
	}
	if broken < 50 {
		t.Errorf("only %d histories lost anything", broken)
	}
}
