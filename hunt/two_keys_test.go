package hunt

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// What two keys are enough for is found without a fault, and before any.
func TestTwoKeysComeSoon(t *testing.T) {
	on := target(1, 1)
	seen := map[string]bool{}
	for p := range space(on, 1) {
		if p.depth > 0 {
			break
		}
		seen[p.workload] = p.schedule.Keys() == 2
	}
	if !seen[shorter] || !seen[longer] {
		t.Errorf("before any fault come %v", seen)
	}
}

// Who has both keys at once says nothing of how close a run came, and is another state than who has one twice.
func TestKeysAreApart(t *testing.T) {
	events := func(key string) []history.Event {
		return []history.Event{
			{Time: 1 * hundredth, Process: "A", Type: history.OK, F: history.Acquire, Key: "k", Since: 1, Lease: 100 * hundredth},
			{Time: 9 * hundredth, Process: "B", Type: history.OK, F: history.Acquire, Key: key, Since: 2, Lease: 100 * hundredth},
		}
	}
	lease := 100 * time.Duration(hundredth)
	one, two, other := feedbackOf(events("k"), lease), feedbackOf(events("k0"), lease), feedbackOf(events("x"), lease)
	if !maps.Equal(one.margins, map[string]float64{"exclusion": 0}) || len(two.margins) > 0 {
		t.Errorf("one key: %v, two keys: %v", one.margins, two.margins)
	}
	if slices.Equal(one.states, two.states) || !slices.Equal(two.states, other.states) {
		t.Errorf("states %v, %v, %v", one.states, two.states, other.states)
	}
}

// The second key is left away if the first does as well, and kept if it does not.
func TestShrinkKeys(t *testing.T) {
	second := func(s *scenarios.Scenario) bool { return s.Keys() > 1 }
	same := func(s *scenarios.Scenario) bool { // a client waits for what another has
		first, on := 0, 0
		for _, p := range s.Programs {
			for _, m := range p {
				if m.Do == history.Acquire && m.Second {
					on++
				} else if m.Do == history.Acquire {
					first++
				}
			}
		}
		return first+on > 2 && (first == 0 || on == 0)
	}
	for name, needs := range map[string]func(*scenarios.Scenario) bool{
		"one key, whichever": same,
		"both keys":          second,
		"any key":            func(s *scenarios.Scenario) bool { return len(s.Clients) > 1 },
	} {
		h := New(Options{Target: target(1, 1), Seed: 3})
		k := &shrinker{h: h, runner: &model{bugs: []bug{{"granted-early", "", needs}}}, sig: Signature{Anomaly: "granted-early"}, budget: 1 << 20}
		var s *scenarios.Scenario
		for p := range space(h.o.Target, 0) {
			if p.workload == longer {
				s = p.schedule
			}
		}
		if name == "one key, whichever" {
			for _, p := range s.Programs {
				for i := range p {
					p[i].Second = p[i].Do == history.Acquire
				}
			}
		}
		small, _ := k.shrink(t.Context(), s)
		h.stop()
		if second(small) != (name == "both keys") || !needs(small) {
			t.Errorf("%s: left is\n%s", name, text(small))
		}
	}
}
