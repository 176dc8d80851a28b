package hunt

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// A trigger that never comes, and a fault that cannot be done, are given up.
func TestDiscardedIsGivenUp(t *testing.T) {
	on := target(1, 1, "pause", "clock")
	never := func(st scenarios.TriggeredFault) bool { return strings.Contains(st.When.String(), "renew") }
	m := &model{discarded: func(s *scenarios.Scenario) (of, why string, cannot bool) {
		for _, st := range s.TriggeredFaults {
			switch {
			case st.Fault.Word == "clock":
				return st.Fault.Text, "no clock here", true
			case never(st):
				return st.Fault.Text, "its trigger never came", false
			}
		}
		return "", "", false
	}}
	_, r := search(t, m, Options{Target: on, Depth: 1}, 1)
	triggers, clocks := map[string]int{}, map[string]int{}
	for _, played := range m.played {
		s, err := scenarios.Parse("s.yaml", []byte(played))
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range s.TriggeredFaults {
			switch {
			case st.Fault.Word == "clock":
				clocks[st.Fault.Text]++
			case never(st):
				triggers[s.Programs["A"].String()+st.When.String()]++
			}
		}
	}
	for what, n := range triggers {
		if n > 3 { // of 4, all missed, a rate of a half is out of the question
			t.Errorf("%s was tried %d times", what, n)
		}
	}
	for what, n := range clocks {
		if n > enoughUnsupported {
			t.Errorf("%s was tried %d times", what, n)
		}
	}
	if len(triggers) == 0 || len(clocks) == 0 || len(r.Infeasible) != len(clocks) || !strings.HasSuffix(r.Infeasible[0], ": no clock here") {
		t.Errorf("%d triggers, %d clocks, impossible %q", len(triggers), len(clocks), r.Infeasible)
	}
	if r.Discarded == 0 || r.Depths[1].Discarded != r.Discarded {
		t.Errorf("%d discarded, %+v", r.Discarded, r.Depths)
	}
}

// After a message that does not come no later one of that act is tried, in the space or beyond it, and those
// that come are all tried.
func TestMessagesThatCome(t *testing.T) {
	come := map[string]int{"acquire": 4, "renew": 2, "release": 1}
	m := &model{discarded: func(s *scenarios.Scenario) (of, why string, cannot bool) {
		for _, st := range s.TriggeredFaults {
			if st.When.N > come[st.When.Do] {
				return st.Fault.Text, "its trigger never came", false
			}
		}
		return "", "", false
	}}
	m.after = func(runs int) {
		if runs > 4000 {
			t.Fatal("it does not end")
		}
	}
	h, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1}, 1)
	tried := map[string]int{} // the last message
	for _, played := range m.played {
		s, err := scenarios.Parse("s.yaml", []byte(played))
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range s.TriggeredFaults {
			tried[st.When.Do] = max(tried[st.When.Do], st.When.N)
		}
	}
	for do, n := range come {
		if want := min(n+1, messages); tried[do] != want {
			t.Errorf("of %s message %d was tried last, want %d", do, tried[do], want)
		}
	}
	if r.Depths[1].Infeasible == 0 || !r.Depths[1].Done {
		t.Errorf("%+v", r.Depths[1])
	}
	for do, n := range come {
		for i := 1; i <= messages; i++ {
			if got := h.reachable(scenarios.Trigger{At: scenarios.Sent, Do: do, N: i}); got != (i <= n+1) {
				t.Errorf("message %d of %s beyond the space: %v", i, do, got)
			}
		}
	}
}
