package hunt

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

func TestGainsHaveToRepeat(t *testing.T) {
	seen := feedback{states: []uint64{1, 2, 3}, margins: map[string]float64{"exclusion": 0.2}}
	for name, c := range map[string]struct {
		again feedback
		stays bool
	}{
		"the same":           {seen, true},
		"one of its states":  {feedback{states: []uint64{3, 9}}, true},
		"as close":           {feedback{margins: map[string]float64{"exclusion": 0.21}}, true},
		"other states":       {feedback{states: []uint64{8, 9}, margins: map[string]float64{"exclusion": 0.5}}, false},
		"nothing":            {feedback{}, false},
		"close to something": {feedback{margins: map[string]float64{"register": 0}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			corpus := newCorpus()
			s := &scenarios.Scenario{Name: "s"}
			corpus.add(s, seen)
			e := corpus.entries[0]
			corpus.again(e, c.again)
			if e.proven != c.stays || slices.Contains(corpus.entries, e) != c.stays {
				t.Fatalf("proven %v, kept %v: want %v", e.proven, slices.Contains(corpus.entries, e), c.stays)
			}
			if a := corpus.archives["exclusion"]; !c.stays && a != nil {
				t.Fatalf("the closest is one that did not repeat: %+v", a)
			}
		})
	}
}

func TestNothingIsChangedThatWasSeenOnce(t *testing.T) {
	target := Target{Lock: "l", TTL: 1, Servers: []string{"s"}}
	h := New(Options{Target: target, Depth: 0})
	defer h.stop()
	h.exhausted = true
	s := target.schedule(workloads(target)[0])
	h.corpus.add(s, feedback{states: []uint64{1}})
	replayed := 0
	for range 50 {
		p, _, ok := h.next(nil)
		if !ok {
			break
		}
		if p.again != nil {
			replayed++
		}
	}
	if replayed != 1 {
		t.Fatalf("the only entry was run again %d times, want once before anything is made of it", replayed)
	}
	if e := h.corpus.entries[0]; e.proven {
		t.Fatal("it is proven though no run of it came in")
	}
}
