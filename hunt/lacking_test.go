package hunt

import (
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// actsOf are what the clients of a schedule do.
func actsOf(s *scenarios.Scenario) []string {
	var out []string
	for _, p := range s.Programs {
		for _, m := range p {
			out = append(out, m.Do)
		}
	}
	return out
}

// What a lock cannot do is asked of it once: the schedules with that act are counted as what cannot be, and say why.
// All others are run.
func TestLockLacksAnAct(t *testing.T) {
	m := &model{lacks: history.Renew}
	_, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1}, 1)
	asked := 0
	for _, played := range m.played {
		s, err := scenarios.Parse("s.yaml", []byte(played))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(actsOf(s), history.Renew) {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("%d schedules with a renewal were run, want 1", asked)
	}
	want := []int{0, 0}
	for p := range space(target(1, 1, "pause"), 1) {
		if slices.Contains(actsOf(p.schedule), history.Renew) {
			want[p.depth]++
		}
	}
	for i, d := range r.Depths {
		if d.Infeasible != want[i] || d.Ran != d.Space-want[i] || !d.Done {
			t.Errorf("want %d infeasible: %+v", want[i], d)
		}
	}
	for _, u := range r.Uncovered {
		if u.What != WasInfeasible || u.Why != "no such act" {
			t.Errorf("%+v", u)
		}
	}
	if err := r.CheckCoverage(); err != nil {
		t.Error(err)
	}
}

// A guided search draws no schedule with such an act either.
func TestGuidedLacksAnAct(t *testing.T) {
	m := &model{lacks: history.Renew}
	asked := 0
	m.after = func(runs int) {
		if s, err := scenarios.Parse("s.yaml", []byte(m.played[runs-1])); err != nil || slices.Contains(actsOf(s), history.Renew) {
			asked++
		}
	}
	_, r := search(t, m, Options{Target: target(1, 1, "pause", "kill"), Depth: 1, Strategy: Guided, Time: time.Second}, 1)
	if asked != 1 || r.Guided == 0 {
		t.Errorf("%d schedules with a renewal were run, want 1; %d guided ones", asked, r.Guided)
	}
}
