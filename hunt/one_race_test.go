package hunt

import (
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// Of a lock that grants two clients the lock at once, with no fault, what a release may have done besides is no other bug. If the
// lock does so only now and then, or one lease later, or by a fault, a release may well be one.
func TestGrantsTwice(t *testing.T) {
	const lease = int64(time.Second)
	race := func(faults, hits int, after int64) *Counterexample {
		granted := func(process, grant string, at int64) history.Event {
			return history.Event{Time: at, Process: process, Type: history.OK, F: history.Acquire, Grant: grant, Lease: lease, Since: at - 5e6}
		}
		return &Counterexample{
			Signature: Signature{Anomaly: "granted-early", Cause: "granted-early"}, Faults: faults, Search: Rate{Hits: hits, Runs: 4},
			Evidence: &Evidence{
				Anomaly: verdict.Anomaly{Grants: []string{"A.1", "B.1"}},
				Events:  []history.Event{granted("A", "A.1", 1e9), granted("B", "B.1", 1e9+after)},
			},
		}
	}
	by := func(anomaly, cause string, hits int) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause}, Faults: 1, Search: Rate{Hits: hits, Runs: 4}}
	}
	for name, c := range map[string]struct {
		race, other *Counterexample
		same        bool
	}{
		"a delayed release":                  {race(0, 4, 1e6), by("granted-early", lateRelease, 4), true},
		"a wrong release, now and then":      {race(0, 4, 1e6), by("wrong-release", "", 2), true},
		"a wrong release, each time":         {race(0, 4, 1e6), by("wrong-release", "", 4), false},
		"half a lease later":                 {race(0, 4, lease/2), by("granted-early", lateRelease, 4), false},
		"two at once now and then":           {race(0, 1, 1e6), by("granted-early", lateRelease, 4), false},
		"two at once by a fault":             {race(1, 4, 1e6), by("granted-early", lateRelease, 4), false},
		"a lease that ends with another one": {race(0, 4, 1e6), by("granted-early", "shared-expiry", 4), false},
	} {
		if c.race.sameBug(c.other) != c.same || c.other.sameBug(c.race) != c.same {
			t.Errorf("%s: one bug %v, want %v", name, !c.same, c.same)
		}
		if c.same && (!c.race.heads(c.other) || c.other.heads(c.race)) {
			t.Errorf("%s: the race does not stand for both", name)
		}
	}
}
