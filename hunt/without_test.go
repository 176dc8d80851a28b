package hunt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

const twoClients = `
name: counterexample
about: "x"
locks: [redis]
ttl: 250ms
clients:
  A: acquire, read, work 0.5 leases, write, release
  B: acquire, read, write, release
faults:
`

const twoFaults = twoClients + `  - when: before A's write
    pause: A
    until: after B's write or 3 leases
  - when: before B's read
    pause: B
    until: 1 leases
`

// TestWithout: a fault is confirmed as the cause only where the counterexample does not come when that
// fault alone is left away.
func TestWithout(t *testing.T) {
	s, err := scenarios.Parse("counterexample.yaml", []byte(twoFaults))
	if err != nil {
		t.Fatal(err)
	}
	both := func(s *scenarios.Scenario) bool { return struck("pause", "A")(s) && struck("pause", "B")(s) }
	for _, c := range []struct {
		name      string
		m         *model
		needs     func(*scenarios.Scenario) bool
		came      Rate
		want      string
		confirmed bool
	}{
		{"both", &model{}, both, Rate{Hits: 20, Runs: 20}, "A: 0 of 10, B: 0 of 10", true},
		{"a bystander", &model{}, struck("pause", "A"), Rate{Hits: 20, Runs: 20}, "A: 0 of 10, B: 10 of 10", false},
		{"neither", &model{}, func(*scenarios.Scenario) bool { return true }, Rate{Hits: 20, Runs: 20}, "A: 10 of 10, B: 10 of 10", false},
		{"too seldom to say", &model{}, both, Rate{Hits: 1, Runs: 20}, "", false},
		{"too busy to say", &model{busy: map[string]int{"": 1 << 20}}, both, Rate{Hits: 20, Runs: 20}, "A: 0 of 0, B: 0 of 0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.bugs = []bug{{"granted-early", "", c.needs}}
			h := New(Options{Target: target(2, 1, "pause")})
			defer h.stop()
			w := &Counterexample{Signature: Signature{Anomaly: "granted-early"}, Schedule: string(s.Write()), Alone: c.came, Faults: 2}
			h.without(t.Context(), c.m, w, 1)
			var got []string
			for _, r := range w.Without {
				got = append(got, strings.TrimPrefix(r.Name, "pause: ")+": "+shareOf(r.Rate))
			}
			if strings.Join(got, ", ") != c.want || w.Confirmed() != c.confirmed {
				t.Errorf("%v, confirmed %v; want %s, %v", got, w.Confirmed(), c.want, c.confirmed)
			}
		})
	}
}

func shareOf(r Rate) string { return fmt.Sprintf("%d of %d", r.Hits, r.Runs) }

// TestWithoutInAHunt: a hunt that finds a counterexample says whether its fault is the cause.
func TestWithoutInAHunt(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	h, _ := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
	if err := h.Finish(t.Context(), []Runner{m}, FinishOptions{Replays: 5, Time: time.Minute}); err != nil || len(h.result.Counterexamples) != 1 {
		t.Fatalf("%v, counterexamples %v", err, counterexampleNames(&h.result))
	}
	if w := h.result.Counterexamples[0]; !w.Confirmed() || len(w.Without) != 1 {
		t.Errorf("%+v", w.Without)
	}
}

const clockSet = twoClients + `  - when: A's acquire has sent message 1
    clock: A +750ms
    until: after B's write or 3 leases
`

// TestWithoutAClock: that a clock was set far is the cause only of what does not come when it is set by next to nothing.
func TestWithoutAClock(t *testing.T) {
	s, err := scenarios.Parse("counterexample.yaml", []byte(clockSet))
	if err != nil {
		t.Fatal(err)
	}
	far := func(s *scenarios.Scenario) bool {
		return len(s.TriggeredFaults) > 0 && s.TriggeredFaults[0].Fault.By > time.Millisecond
	}
	for name, c := range map[string]struct {
		needs     func(*scenarios.Scenario) bool
		confirmed bool
	}{
		"how far":         {far, true},
		"that it was set": {struck("clock", "A"), false},
	} {
		h := New(Options{Target: target(2, 1, "clock")})
		w := &Counterexample{Signature: Signature{Anomaly: "granted-early"}, Schedule: string(s.Write()), Alone: Rate{Hits: 20, Runs: 20}, Faults: 1}
		h.without(t.Context(), &model{bugs: []bug{{"granted-early", "", c.needs}}}, w, 1)
		h.stop()
		if len(w.Without) != 1 || w.Without[0].Instead != "clock: A +1µs" || w.Confirmed() != c.confirmed {
			t.Errorf("%s: %+v, confirmed %v, want %v", name, w.Without, w.Confirmed(), c.confirmed)
		}
	}
}
