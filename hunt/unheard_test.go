package hunt

import (
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// A client whose acquire fails, and that is granted the lock all the same, is one bug, by whatever fault it fails.
func TestUnheard(t *testing.T) {
	const ms = int64(time.Millisecond)
	// met is the lock granted to A, from 100 to 110 ms, and to B, from 300 to 310 ms, when so much of A's lease was left; a fault was on.
	met := func(left int64, fault string, from, to int64, nodes ...string) *Counterexample {
		event := func(at int64, process string, of history.Type, grant string) history.Event {
			return history.Event{Time: at * ms, Process: process, Type: of, F: history.Acquire, Key: "k", Grant: grant, Lease: 1000 * ms}
		}
		nemesis := func(at int64, phase string) history.Event {
			return history.Event{Time: at * ms, Process: history.Nemesis, F: fault, Phase: phase, Nodes: nodes, Confirmed: phase == history.Begin}
		}
		return &Counterexample{
			Signature: Signature{Anomaly: "granted-early", Cause: "granted-early", Kinds: []string{fault}}, Faults: 1, Search: Rate{Hits: 4, Runs: 4},
			Evidence: &Evidence{
				Anomaly: verdict.Anomaly{Name: "granted-early", Grants: []string{"A.1", "B.1"}, Sizes: map[string]int64{"lease": 1000 * ms, "remaining": left * ms}},
				Events: []history.Event{
					nemesis(from, history.Begin),
					event(100, "A", history.Invoke, ""), event(110, "A", history.OK, "A.1"),
					event(300, "B", history.Invoke, ""), event(310, "B", history.OK, "B.1"),
					nemesis(to, history.End),
				},
			},
		}
	}
	rounding := met(800, "hold", 290, 400, "B", "s1")
	rounding.Cause = rounded
	lost := met(800, "withhold", 290, 305, "s1", "B")
	for name, c := range map[string]struct {
		w    *Counterexample
		same bool
	}{
		"the later one's request held":                {met(800, "hold", 290, 400, "B", "s1"), true},
		"its connection reset right before":           {met(800, "reset", 290, 295, "B", "s1"), true},
		"refused by the service":                      {met(800, "refuse", 290, 400, "s1"), true},
		"the earlier one's request held for good":     {met(8, "hold", 90, 400, "A", "s1"), true},
		"the earlier one's answer late, and too soon": {met(800, "slow", 90, 400, "A", "s1"), true},
		"the earlier one's, counted from the answer":  {met(8, "slow", 90, 400, "A", "s1"), false},
		"the earlier one's, held until the answer":    {met(8, "hold", 90, 105, "A", "s1"), false},
		"reset long before":                           {met(800, "reset", 200, 250, "B", "s1"), false},
		"another client's":                            {met(800, "hold", 90, 400, "C", "s1"), false},
		"a pause of it":                               {met(800, "pause", 290, 400, "B"), false},
		"servers that had just crashed":               {met(800, "kill", 290, 400, "s1"), true},
		"a server that came back":                     {met(800, "kill", 290, 305, "s1"), false},
		"a server that another may have replaced":     {met(800, "kill", 190, 400, "s1"), false},
		"less than a millisecond early":               {rounding, false},
	} {
		if got := c.w.sameUnheard(lost); got != c.same {
			t.Errorf("%s: one bug with a lost answer: %v, want %v", name, got, c.same)
		}
	}
}

func TestFreesLate(t *testing.T) {
	of := func(anomaly, cause string) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause}, Faults: 1, Search: Rate{Hits: 4, Runs: 4}}
	}
	for name, c := range map[string]struct {
		w, o *Counterexample
		same bool
	}{
		"a wrong release, and a delayed one":       {of("wrong-release", ""), of("granted-early", lateRelease), true},
		"two delayed ones":                         {of("granted-early", lateRelease), of("revoked-early", lateRelease), true},
		"a lease that another's release ended":     {of("revoked-early", "wrong-release"), of("granted-early", lateRelease), true},
		"an early grant of which no more is known": {of("granted-early", "granted-early"), of("granted-early", lateRelease), false},
		"a lease that ended early":                 {of("revoked-early", ""), of("wrong-release", ""), false},
	} {
		if c.w.sameBug(c.o) != c.same || c.o.sameBug(c.w) != c.same {
			t.Errorf("%s: one bug %v, want %v", name, !c.same, c.same)
		}
	}
}
