package hunt

import (
	"testing"

	"github.com/picklock/picklock/checker/verdict"
)

// TestCountedLate: a lease that is counted from the answer is one bug, whatever keeps the answer back; the counterexample whose record shows that
// stands for the others.
func TestCountedLate(t *testing.T) {
	of := func(cause string, hits int, shown bool) *Counterexample {
		w := &Counterexample{Signature: Signature{Anomaly: "granted-early", Cause: cause}, Search: Rate{Hits: hits, Runs: 4}, Evidence: &Evidence{}}
		if shown {
			w.Evidence.Anomaly.Suspect = &verdict.Suspect{Fault: "hold", On: verdict.OnClient}
		}
		return w
	}
	for _, c := range []struct {
		name        string
		a, b        *Counterexample
		same, heads bool // and b stands for both
	}{
		{"two faults", of(countedLate, 4, false), of(countedLate, 4, true), true, true},
		{"the fault shows in the first", of(countedLate, 4, true), of(countedLate, 4, false), true, false},
		{"the fault shows in one that came once", of(countedLate, 4, false), of(countedLate, 1, true), true, false},
		{"less than a millisecond early", of(countedLate, 4, true), of(rounded, 4, false), true, false},
		{"less than a millisecond early, first", of(rounded, 4, false), of(countedLate, 4, false), true, true},
		{"two that are less than a millisecond early", of(rounded, 4, false), of(rounded, 1, false), false, false},
		{"another cause", of(countedLate, 4, true), of("late-release", 4, true), false, false},
	} {
		if c.a.sameCount(c.b) != c.same || c.b.sameCount(c.a) != c.same || c.same && !c.a.sameBug(c.b) {
			t.Errorf("%s: one bug %v, want %v", c.name, !c.same, c.same)
		}
		if c.b.heads(c.a) != c.heads {
			t.Errorf("%s: the second stands for both: %v, want %v", c.name, !c.heads, c.heads)
		}
	}
}
