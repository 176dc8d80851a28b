package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestAnswersNameNothing: an answer that names neither key nor value is the one to
// the process's open operation.
func TestAnswersNameNothing(t *testing.T) {
	in := script(t, `
0.10-0.20 c1 acquire c1.1 token=1 lease=1
0.15-0.50 c2 acquire c2.1 token=2 since=0.45 lease=1
0.21-0.22 c1 read c1.1 @0.215
0.23-0.24 c1 write c1.1 value=a @0.235
0.25-0.26 c1 write c1.1 value=b !full @0.255
0.40-0.41 c1 release c1.1 held
`)
	whole, _ := json.Marshal(Check(in))
	for i := range in.Events {
		if e := &in.Events[i]; e.Type != history.Invoke && e.F != history.Read {
			e.Key, e.Value = "", ""
		}
	}
	if bare, _ := json.Marshal(Check(in)); string(bare) != string(whole) {
		t.Errorf("%s\nwith keys and values %s", bare, whole)
	}
}

// TestAnswerOfAnotherKey: an answer that names another key is none to the open
// acquire, which goes on waiting.
func TestAnswerOfAnotherKey(t *testing.T) {
	an := analysed(script(t, "0.1- c1 acquire key=k0\n-0.2 c1 acquire c1.1 key=k1\n0.5-0.6 c2 acquire c2.1 key=k0"))
	waiting := an.lockNamed("k0").acquires
	if len(waiting) != 1 || waiting[0].process != "c1" || waiting[0].endT != 600e6 || waiting[0].comp >= 0 {
		t.Errorf("waiting for k0: %+v", waiting)
	}
	if g := an.lockNamed("k1").grants; len(g) != 1 || g[0].inv >= 0 || g[0].lo != 0 {
		t.Errorf("grants of k1: %+v", g)
	}
}

// TestEventsKeepTheirNumbers: evidence name events by their own index, whatever it
// is.
func TestEventsKeepTheirNumbers(t *testing.T) {
	for name, number := range map[string]func(i int64) int64{
		"from 0":              func(i int64) int64 { return i },
		"from 100":            func(i int64) int64 { return i + 100 },
		"one left out":        func(i int64) int64 { return i + i/2 },
		"only the last moved": func(i int64) int64 { return i + i/5*10 },
	} {
		in := script(t, "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c2 acquire c2.1 lease=1\n0.5-0.6 c2 release c2.1\n0.7-0.8 c1 release c1.1")
		for i := range in.Events {
			in.Events[i].Index = number(int64(i))
		}
		early := named(Check(in), "granted-early")
		if len(early) != 1 || !slices.Equal(early[0].Events, []int64{number(1), number(3)}) {
			t.Errorf("%s: %+v", name, early)
		}
		over := named(Check(script(t, "0.1-0.2 c1 acquire c1.1\n0.2-0.3 c1 release c1.1\n0.15-0.3 c2 acquire c2.1")), "two-holders")
		if len(over) != 0 {
			t.Errorf("%+v", over)
		}
	}
}

// TestObserveOrder: what counts is the time, and the index among events of one time.
func TestObserveOrder(t *testing.T) {
	at := func(time, index int64) *history.Event {
		return &history.Event{Time: time, Index: index, Process: fmt.Sprint("c", index), Type: history.Invoke, F: history.Read}
	}
	for _, c := range []struct {
		name string
		a, b *history.Event
		ok   bool
	}{
		{"time and index rise", at(1, 1), at(2, 2), true},
		{"time rises, index falls", at(1, 2), at(2, 1), true},
		{"time falls, index rises", at(2, 1), at(1, 2), false},
		{"one time, index rises", at(1, 1), at(1, 2), true},
		{"one time, index falls", at(1, 2), at(1, 1), false},
	} {
		s := newStream(Options{})
		if err := s.Observe(c.a); err != nil {
			t.Fatal(err)
		}
		if err := s.Observe(c.b); (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrOrder)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := s.r.seen; (n == 2) != c.ok {
			t.Errorf("%s: %d events", c.name, n)
		}
	}
}

// TestForgets: of what is over, nothing is kept for pairing: memory is that of what
// is open.
func TestForgets(t *testing.T) {
	s := newStream(Options{})
	in := validHistory(5000, 2, 1)
	for i := range in.Events {
		if err := s.Observe(&in.Events[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"c1", "c2"} {
		p := s.r.names.Process(name)
		if len(p.held) > 1 || p.Len() > 1 || len(p.latest.more) > 0 {
			t.Errorf("%s: %d grants believed held, %d operations open, %d other locks", name, len(p.held), p.Len(), len(p.latest.more))
		}
	}
	if k := s.r.locks["k0"]; k.now.held > 1 || k.now.open > 2 {
		t.Errorf("k0: %d grants believed held, %d acquires open", k.now.held, k.now.open)
	}
}

// TestManyReadsOfOneGrant: pairing reads with the log takes no longer the more of
// them one grant has.
func TestManyReadsOfOneGrant(t *testing.T) {
	const n = 50_000
	in := script(t, "0.1-0.2 c1 acquire c1.1")
	for i := range int64(n) {
		e := history.Event{Index: 2 + 2*i, Time: 200e6 + 10*i, Process: "c1", Type: history.Invoke, F: history.Read, Key: "k0", Grant: "c1.1"}
		in.Events = append(in.Events, e)
		if i%5 == 3 {
			continue // never answered, never arrived
		}
		e.Index, e.Time, e.Type = e.Index+1, e.Time+5, history.OK
		in.Events = append(in.Events, e)
		in.Effects = append(in.Effects, history.Effect{Seq: i + 1, Time: e.Time - 2, Process: "c1", F: history.Read, Key: "k0", Grant: "c1.1"})
	}
	v := Check(in)
	if len(v.Anomalies) > 0 || v.Stats.Unknown != n/5 || v.Properties[Register].Why != "no write was ever accepted" {
		t.Errorf("%d anomalies, %+v, %+v", len(v.Anomalies), v.Properties[Register], v.Stats)
	}
}

// TestSlab: records keep their positions, and cost less than an allocation each.
func TestSlab(t *testing.T) {
	var s slab[int]
	var all []*int
	for i := range 10_000 {
		p := s.next()
		*p = i
		all = append(all, p)
	}
	for i, p := range all {
		if *p != i {
			t.Fatalf("record %d is %d", i, *p)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		for range 1000 {
			s.next()
		}
	}); n > 10 {
		t.Errorf("%v allocations for 1000 records", n)
	}
	var list []int
	if n := testing.AllocsPerRun(10, func() {
		list = nil
		for i := range 10_000 {
			list = push(list, i)
		}
	}); n > 20 || len(list) != 10_000 || list[9_999] != 9_999 {
		t.Errorf("%v allocations for a list of 10,000, which has %d", n, len(list))
	}
}
