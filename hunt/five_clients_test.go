package hunt

import (
	"testing"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Five clients are found to be needed, come after as many schedules with a fault as there are faults, and are no base of other schedules.
func TestFiveClients(t *testing.T) {
	on := target(1, 1)
	faulted, come := 0, 0
	for p := range space(on, 1) {
		switch {
		case len(p.schedule.Clients) > len(on.ClientNames()):
			if come++; p.workload != five || come == 1 && faulted < len(faults(on, clientNames[:2])) {
				t.Fatalf("%s of %d clients after %d faults", p.workload, len(p.schedule.Clients), faulted)
			}
		case p.depth == 1:
			faulted++
		}
	}
	if come != 4 {
		t.Errorf("%d schedules", come)
	}
	needs := func(s *scenarios.Scenario) bool { return len(s.Clients) > 4 }
	h, r := search(t, &model{bugs: []bug{{"deadlock", "", needs}}}, Options{Target: on, Depth: 1, Strategy: Guided, FailFast: true}, 1)
	if len(r.Counterexamples) != 1 {
		t.Errorf("found %v", counterexampleNames(r))
	}
	for p := range space(on, 1) {
		if h.corpus = newCorpus(); len(p.schedule.TriggeredFaults) == 0 {
			h.observe(p, false, &Outcome{Events: []history.Event{{Process: "A", Type: history.OK, F: history.Acquire, Key: "k", Time: 1}}})
		}
		if changed := len(h.corpus.entries) > 0; changed && p.workload == five || p.workload == "overlap" && p.depth == 0 && !changed {
			t.Errorf("%s is the base of others: %v", p.workload, changed)
		}
	}
	k := &shrinker{h: h, runner: &model{bugs: []bug{{"deadlock", "", needs}}}, sig: Signature{Anomaly: "deadlock"}, budget: 1 << 20}
	s, err := r.Counterexamples[0].scenario()
	if err != nil {
		t.Fatal(err)
	}
	small, _ := k.shrink(t.Context(), s)
	if len(small.Clients) != 5 || len(small.Programs["E"]) != 1 || small.Programs["E"][0].Do != history.Acquire {
		t.Errorf("left is\n%s", text(small))
	}
}
