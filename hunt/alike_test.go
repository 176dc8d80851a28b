package hunt

import (
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// TestSameMemory: a service that keeps nothing loses the grants and the counter of the tokens at once. That is one bug.
func TestSameMemory(t *testing.T) {
	of := func(anomaly, fault string, change ...func(*verdict.Suspect)) *Counterexample {
		s := &verdict.Suspect{Fault: fault, On: verdict.OnServer}
		for _, c := range change {
			c(s)
		}
		return &Counterexample{
			Signature: Signature{Anomaly: anomaly, Cause: anomaly}, Search: Rate{Hits: 4, Runs: 4},
			Acts:     []Act{{Client: "A", Do: anomaly, Nth: 1, Without: Rate{Runs: withoutActRuns}}},
			Evidence: &Evidence{Anomaly: verdict.Anomaly{Suspect: s}},
		}
	}
	earlier := func(s *verdict.Suspect) { s.Earlier = true }
	onClient := func(s *verdict.Suspect) { s.On = verdict.OnClient }
	for _, c := range []struct {
		name string
		a, b *Counterexample
		same bool
	}{
		{"a grant and the counter", of("granted-early", "kill"), of("token-regression", "powerloss"), true},
		{"a grant that another client got, and one that none did", of("granted-early", "kill"), of("revoked-early", "kill"), true},
		{"a replica that took over", of("granted-early", "failover"), of("token-reuse", "failover"), true},
		{"a crash and a replica", of("granted-early", "kill"), of("token-regression", "failover"), false},
		{"a server that came back", of("granted-early", "kill"), of("token-regression", "kill", earlier), false},
		{"a client", of("granted-early", "kill"), of("token-regression", "kill", onClient), false},
		{"a pause", of("granted-early", "pause"), of("token-regression", "pause"), false},
		{"a deadlock", of("granted-early", "kill"), of("deadlock", "kill"), false},
	} {
		if c.a.sameBug(c.b) != c.same || c.b.sameBug(c.a) != c.same {
			t.Errorf("%s: one bug %v, want %v", c.name, !c.same, c.same)
		}
	}
}

// TestClockShown: what came once is no bug of others by the acts that were under way, if its record shows that a server's clock was the cause, and theirs
// does not.
func TestClockShown(t *testing.T) {
	of := func(hits int, suspect *verdict.Suspect) *Counterexample {
		w := &Counterexample{
			Signature: Signature{Anomaly: "granted-early", Cause: "granted-early"}, Search: Rate{Hits: hits, Runs: 4},
			Evidence: &Evidence{
				Anomaly: verdict.Anomaly{Grants: []string{"A.1", "B.1"}, Suspect: suspect},
				Events: []history.Event{
					{Time: 1e6, Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1"},
					{Time: 4e6, Process: "A", F: history.Release, Type: history.Invoke},
					{Time: 9e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1"}},
			},
		}
		if hits > 1 {
			w.Acts = []Act{{Client: "A", Do: history.Release, Nth: 1, Without: Rate{Runs: withoutActRuns}, ByHolder: true}}
		}
		return w
	}
	clock := &verdict.Suspect{Fault: "clock", On: verdict.OnServer}
	for _, c := range []struct {
		name string
		once *verdict.Suspect
		same bool
	}{{"no fault", nil, true}, {"a server's clock", clock, false}} {
		a, b := of(4, nil), of(1, c.once)
		if a.sameBug(b) != c.same || b.sameBug(a) != c.same {
			t.Errorf("%s: one bug %v, want %v", c.name, !c.same, c.same)
		}
	}
}

// A lease that a server's clock counts ends early if that is set forward, and late if it is set back: one bug. What a client's
// clock does is another one, and so is what no clock did.
func TestCountedByServer(t *testing.T) {
	of := func(anomaly, cause, fault string, on verdict.Side) *Counterexample {
		return &Counterexample{
			Signature: Signature{Anomaly: anomaly, Cause: cause}, Search: Rate{Hits: 3, Runs: 3},
			Evidence: &Evidence{Anomaly: verdict.Anomaly{Name: anomaly, Cause: cause, Suspect: &verdict.Suspect{Fault: fault, On: on}}},
		}
	}
	early := of("granted-early", "granted-early", "clock", verdict.OnServer)
	for name, c := range map[string]struct {
		w    *Counterexample
		want bool
	}{
		"set back, and the holder crashed": {of("deadlock", "crashed-holder", "clock", verdict.OnServer), true},
		"the holder crashed":               {of("deadlock", "crashed-holder", "kill", verdict.OnClient), false},
		"a client's clock":                 {of("deadlock", "crashed-holder", "clock", verdict.OnClient), false},
		"a server crashed":                 {of("deadlock", "", "kill", verdict.OnServer), false},
		"tokens by that clock":             {of("token-reuse", "", "clock", verdict.OnServer), false},
	} {
		if got := early.sameBug(c.w) && c.w.sameBug(early); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
