package hunt

import (
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// A hunt that hardly began proves nothing, even if its few runs went as planned.
func TestTooLittle(t *testing.T) {
	none := func(space, ran, infeasible int) Depth {
		return Depth{Space: space, Ran: ran, Infeasible: infeasible, NotReached: space - ran - infeasible}
	}
	one := func(ran int) Depth { return Depth{Faults: 1, Space: 100, Ran: ran, NotReached: 100 - ran} }
	for name, tt := range map[string]struct {
		r      Result
		proves bool
	}{
		"one run with a fault":        {Result{Depths: []Depth{none(17, 0, 0), one(1)}}, false},
		"fewer than half":             {Result{Depths: []Depth{none(17, 7, 0), one(1)}}, false},
		"half":                        {Result{Depths: []Depth{none(16, 7, 0), one(1)}}, true},
		"half of what can be done":    {Result{Depths: []Depth{none(17, 5, 5), one(1)}}, true},
		"chosen at random":            {Result{Depths: []Depth{none(17, 0, 0), one(0)}, Guided: 9}, true},
		"at random, most discarded":   {Result{Depths: []Depth{none(17, 0, 0), one(0)}, Guided: 9, GuidedDiscarded: 4}, false},
		"all without faults, no more": {Result{Depths: []Depth{none(17, 17, 0), one(0)}}, false},
	} {
		tt.r.Runs, tt.r.Granted = 20, 20
		if why := tt.r.Unproved(); (why == "") != tt.proves {
			t.Errorf("%s: %q", name, why)
		}
		if s := tt.r.Summary(); strings.HasPrefix(s, "PASS") != tt.proves {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// A kind of fault with which no schedule ran as planned is named, whether a search or several found it out.
func TestUntried(t *testing.T) {
	on := target(1, 1, "pause", "partition")
	discards := func(words ...string) *model {
		return &model{discarded: func(s *scenarios.Scenario) (of, why string, cannot bool) {
			for _, st := range s.TriggeredFaults {
				if word, _, _ := strings.Cut(st.Fault.Text, ":"); slices.Contains(words, word) {
					return st.Fault.Text, "it struck late", false
				}
			}
			return "", "", false
		}}
	}
	for runs, want := range map[int]bool{0: false, 1: true} {
		r := Result{Runs: 1, FaultRuns: map[string]int{"pause": runs, "kill": 0}}
		if s := r.Summary(); strings.Contains(s, "; not tried: kill") != want {
			t.Errorf("%d runs with a pause: %s", runs, s)
		}
	}
	for name, tt := range map[string]struct {
		m    *model
		o    Options
		want []string
	}{
		"all ran":                        {&model{}, Options{}, nil},
		"no pause":                       {discards("pause"), Options{}, []string{"pause"}},
		"no cut: a partition":            {discards("cut"), Options{}, []string{"partition"}},
		"neither":                        {discards("cut", "pause"), Options{}, []string{"partition", "pause"}},
		"what cannot be done is no duty": {&model{}, Options{Infeasible: map[string]string{"fault pause: A": "no", "fault pause: B": "no", "fault pause: C": "no", "fault pause: redis": "no"}}, nil},
	} {
		var known []Ran
		tt.o.Target, tt.o.Depth, tt.o.Record = on, 1, func(p Ran) { known = append(known, p) }
		h, r := search(t, tt.m, tt.o, 1)
		if got := r.Untried(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q: %v", name, got, tt.want, r.FaultRuns)
		}
		tt.o.Known, tt.o.Record = known, nil
		if _, again := search(t, tt.m, tt.o, 1); !slices.Equal(again.Untried(), tt.want) {
			t.Errorf("%s, resumed: %q, want %q", name, again.Untried(), tt.want)
		}
		_, other := search(t, &model{}, Options{Target: on, Depth: 1}, 1)
		both := Assemble(Options{Target: on, Depth: 1}, []Portion{h.Portion(), {Result: *other}}).Result()
		if got := both.Untried(); len(got) != 0 {
			t.Errorf("%s, with a part that ran all: %q", name, got)
		}
	}
}
