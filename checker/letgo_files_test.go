package checker

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/percentile"
)

// locksOnly is a history without a register, with its events numbered from first on.
func locksOnly(events int, first int64) Input {
	in := validHistory(2*events, 20, 3)
	in.Effects = nil
	in.Events = slices.DeleteFunc(in.Events, func(e history.Event) bool { return e.F == history.Read || e.F == history.Write })
	for i := range in.Events {
		in.Events[i].Index = first + int64(i)
	}
	return in
}

// TestLittleIsKept: of a sound history what is kept does not grow with its length.
func TestLittleIsKept(t *testing.T) {
	kept := func(events int) (n int) {
		let := newLetting(Options{}, false)
		let.sample = func(int) bool { return false }
		s := newStream(Options{}, let)
		in := locksOnly(events, 0)
		for i := range in.Events {
			if err := s.Observe(&in.Events[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range s.r.locks {
			n += len(k.grants) + len(k.acquires) + len(k.released) + len(k.gone.asking) + len(k.gone.busy) + len(k.gone.firm) + len(k.gone.word)
		}
		for _, p := range s.r.names.byName {
			n += len(p.own) + len(p.early)
		}
		return n
	}
	if short, long := kept(20_000), kept(60_000); long > short+short/4 {
		t.Errorf("of 20,000 events %d records are kept, of 60,000 %d", short, long)
	}
	if newLetting(Options{}, true) != nil || newLetting(Options{Skew: 1}, false) != nil || newLetting(Options{Fair: 1}, false) != nil {
		t.Error("what was asked needs all of the history")
	}
}

// TestReadAgain: where a late event speaks of a grant that was let go, the file is read
// again with all of it kept, and the verdict is the same.
func TestReadAgain(t *testing.T) {
	for name, late := range map[string]history.Event{
		"nothing":                                    {},
		"a renewal of a grant that was let go":       {Type: history.OK, F: history.Renew, Lease: 5, Held: true},
		"a second release of it":                     {Type: history.Invoke, F: history.Release},
		"a loss of it":                               {Type: history.Info, F: history.Lost},
		"an operation under it":                      {Type: history.Invoke, F: history.Read},
		"a grant with a token that was given before": {Type: history.OK, F: history.Acquire, Token: 3},
		"a grant that is shared":                     {Type: history.OK, F: history.Acquire, Token: 1 << 40, Mode: history.Shared},
		"a client that a fault named before":         {Type: history.OK, F: history.Acquire, Token: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			in := locksOnly(12_000, 7)
			last := in.Events[len(in.Events)-1]
			if strings.Contains(name, "fault") {
				pause := history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Phase: history.Begin, Nodes: []string{"x"}}
				over := pause
				over.Index, over.Phase = 1, history.End
				in.Events = slices.Insert(in.Events, 0, pause, over)
			}
			if late.Type != "" {
				late.Process, late.Grant, late.Time, late.Index = "c1", "c1.90", last.Time+1, last.Index+1
				if late.F == history.Acquire {
					late.Process, late.Grant, late.Key = "x", "x.1", "k0"
					ask := late
					ask.Type, ask.Grant, ask.Token = history.Invoke, "", 0
					in.Events = append(in.Events, ask)
					late.Time, late.Index = late.Time+1, late.Index+1
				}
				in.Events = append(in.Events, late)
			}
			in.Options.SkipCrossCheck = true
			order := make([]int, len(in.Events))
			for i := range order {
				order[i] = i
			}
			events, _ := write(t, t.TempDir(), in, order)
			let := newLetting(in.Options, false)
			let.batch = 64
			got, err := checkSource(context.Background(), history.Source{Path: events}, "", in.Options, let, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(Check(in))
			if string(a) != string(b) {
				t.Errorf("from the file %s\nfrom memory %s", a, b)
			}
			if again := late.Type != "" && late.F != history.Lost; let.undone != again {
				t.Errorf("read again: %v, want %v", let.undone, again)
			}
		})
	}
}

// TestWaitTimes: what is counted without sorting is what sorting gives.
func TestWaitTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(0, 1<<18), rapid.Int64Range(math.MaxUint32-2, math.MaxUint32+2), rapid.Int64Range(0, 1<<40)), 1, 40).Draw(t, "waits")
		var w waitTimes
		for _, v := range all {
			w.add(v)
		}
		slices.Sort(all)
		want := Waits{P50: percentile.Of(all, 50), P95: percentile.Of(all, 95), P99: percentile.Of(all, 99), Max: percentile.Of(all, 100)}
		if got := w.summary(); *got != want {
			t.Fatalf("%+v, want %+v", *got, want)
		}
	})
	if (&waitTimes{}).summary() != nil {
		t.Error("a summary of nothing")
	}
}

// TestPlaces: events keep their numbers, whatever those are.
func TestPlaces(t *testing.T) {
	for name, number := range map[string]func(i int) int64{
		"from 0":       func(i int) int64 { return int64(i) },
		"from 1":       func(i int) int64 { return int64(i) + 1 },
		"backwards":    func(i int) int64 { return int64(5000 - i) },
		"with a gap":   func(i int) int64 { return int64(i + i/1500) },
		"every second": func(i int) int64 { return int64(2 * i) },
	} {
		var l places
		for i := range 4000 {
			l.add(int32(i), number(i))
		}
		for i := range 4000 {
			if got := l.at(int32(i), -1); len(got) != 1 || got[0] != number(i) {
				t.Fatalf("%s: event %d has the number %v, want %d", name, i, got, number(i))
			}
		}
	}
}
