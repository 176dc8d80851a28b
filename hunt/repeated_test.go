package hunt

import (
	"testing"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// What takes many grants is made smaller by repetitions, and not move by move.
func TestShrinkRepeated(t *testing.T) {
	on := target(1, 1)
	enough := func(s *scenarios.Scenario) bool {
		n := 0
		for _, p := range s.Programs {
			for _, m := range p {
				if m.Do == history.Acquire {
					n++
				}
			}
		}
		return n >= 10 && len(s.Clients) > 1
	}
	m := &model{bugs: []bug{{"granted-early", "", enough}}}
	h := New(Options{Target: on})
	defer h.stop()
	var s *scenarios.Scenario
	for _, w := range workloads(on) {
		if w.name == turns {
			s = on.schedule(w)
		}
	}
	if s == nil || !enough(s) {
		t.Fatal("there is no workload of many grants")
	}
	k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 1 << 20}
	small, _ := k.shrink(t.Context(), s)
	moves := 0
	for _, p := range small.Programs {
		moves += len(p)
	}
	if !enough(small) || len(small.Clients) != 2 || moves != 10 {
		t.Errorf("%d moves of %d clients:\n%s", moves, len(small.Clients), small.Write())
	}
	if len(m.played) > 250 {
		t.Errorf("it took %d runs", len(m.played))
	}
}
