package hunt

import (
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// TestConfirmedLost: a lock that confirms the release of what its client had lost has one bug, whether the record shows that the answer was false or only
// that another grant is early by it.
func TestConfirmedLost(t *testing.T) {
	of := func(anomaly, cause string, held bool) *Counterexample {
		return &Counterexample{
			Signature: Signature{Anomaly: anomaly, Cause: cause}, Search: Rate{Hits: 4, Runs: 4},
			Evidence: &Evidence{
				Anomaly: verdict.Anomaly{Name: anomaly, Cause: cause, Property: verdict.Exclusion, Grants: []string{"A.1", "B.1"}, Events: []int64{1, 2, 4}},
				Events: []history.Event{
					{Index: 1, Time: 1e6, Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1"},
					{Index: 2, Time: 4e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1"},
					{Index: 3, Time: 8e6, Process: "A", F: history.Release, Type: history.Invoke, Grant: "A.1"},
					{Index: 4, Time: 9e6, Process: "A", F: history.Release, Type: history.OK, Grant: "A.1", Held: held}},
			},
		}
	}
	proved := of("granted-early", "confirmed-lost", true)
	for _, c := range []struct {
		name string
		b    *Counterexample
		same bool
	}{
		{"early by such a word", of("granted-early", "granted-early", true), true},
		{"early without one", of("granted-early", "granted-early", false), false},
		{"a false answer", of("false-belief", "released", true), true},
		{"a false answer to a renewal", of("false-belief", "extended", true), false},
	} {
		if proved.sameBug(c.b) != c.same || c.b.sameBug(proved) != c.same {
			t.Errorf("%s: one bug %v, want %v", c.name, !c.same, c.same)
		}
	}
}
