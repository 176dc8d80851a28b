package hunt

import (
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// What a lock does with no fault is no other bug if it does it with one. If it does so only now and then, a release may well be one.
func TestWithoutFault(t *testing.T) {
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
	stuck := func(cause string, faults, hits, runs int) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: "deadlock", Cause: cause}, Faults: faults, Search: Rate{Hits: hits, Runs: runs}}
	}
	plain := func(anomaly string, faults, hits int) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly}, Faults: faults, Search: Rate{Hits: hits, Runs: 4}}
	}
	by := func(anomaly, cause string, hits int) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause}, Faults: 1, Search: Rate{Hits: hits, Runs: 4}}
	}
	for name, c := range map[string]struct {
		race, other *Counterexample
		same        bool
	}{
		"a delayed release":                   {race(0, 4, 1e6), by("granted-early", lateRelease, 4), true},
		"a delayed release, no leases":        {plain("double-grant", 0, 4), by("double-grant", lateRelease, 4), true},
		"no leases, two at once by a fault":   {plain("double-grant", 1, 4), by("double-grant", lateRelease, 4), false},
		"no leases, two at once now and then": {plain("double-grant", 0, 1), by("double-grant", lateRelease, 4), false},
		"a wrong release, now and then":       {race(0, 4, 1e6), by("wrong-release", "", 2), true},
		"a wrong release, each time":          {race(0, 4, 1e6), by("wrong-release", "", 4), false},
		"half a lease later":                  {race(0, 4, lease/2), by("granted-early", lateRelease, 4), true},
		"half a lease later, by a release":    {by("wrong-release", "", 4), by("granted-early", "granted-early", 4), false},
		"two at once now and then":            {race(0, 1, 1e6), by("granted-early", lateRelease, 4), false},
		"two at once by a fault":              {race(1, 4, 1e6), by("granted-early", lateRelease, 4), false},
		"a lease that was ended early":        {race(0, 4, lease/2), by("revoked-early", "", 4), true},
		"one that was ended now and then":     {race(0, 1, lease/2), by("revoked-early", "", 4), false},
		"one that another's release ended":    {race(0, 4, lease/2), by("revoked-early", "wrong-release", 4), false},
		"a deadlock":                          {stuck("", 0, 1, 1), stuck("", 1, 4, 4), true},
		"a deadlock that came once":           {stuck("", 0, 1, 1), stuck("lost-release", 1, 1, 3), true},
		"a deadlock after a lost release":     {stuck("", 0, 1, 1), stuck("lost-release", 1, 4, 4), false},
		"granted to the last one alone":       {stuck("own-again", 0, 4, 4), stuck("", 0, 4, 4), true},
		"to the last one alone, by a fault":   {stuck("own-again", 1, 4, 4), stuck("", 1, 4, 4), false},
		"by a fault":                          {stuck("", 1, 4, 4), stuck("lost-release", 1, 1, 3), false},
		"once, without a fault":               {stuck("", 0, 1, 3), stuck("", 1, 4, 4), false},
		"after a lost release, with none":     {stuck("lost-release", 0, 4, 4), stuck("", 1, 4, 4), false},
		"a stale write of two at once":        {plain("double-grant", 0, 4), by("stale-write", "granted-early", 3), true},
		"a lost update of two at once":        {race(0, 4, 1e6), by("lost-update", "granted-early", 3), true},
		"a stale write, two now and then":     {plain("double-grant", 0, 1), by("stale-write", "granted-early", 3), false},
		"a stale write, two by a fault":       {plain("double-grant", 1, 4), by("stale-write", "granted-early", 3), false},
		"a stale write after a lease":         {plain("double-grant", 0, 4), by("stale-write", "lease-outlived", 3), false},
		"another harm":                        {stuck("", 0, 4, 4), by("revoked-early", "", 4), false},
		"a lease that ends with another one":  {race(0, 4, 1e6), by("granted-early", "shared-expiry", 4), false},
	} {
		if c.race.sameBug(c.other) != c.same || c.other.sameBug(c.race) != c.same {
			t.Errorf("%s: one bug %v, want %v", name, !c.same, c.same)
		}
		if c.same && (!c.race.heads(c.other) || c.other.heads(c.race)) {
			t.Errorf("%s: the one without a fault does not stand for both", name)
		}
	}
}

func TestStuckLike(t *testing.T) {
	of := func(cause, fault string, hits int) *Counterexample {
		w := &Counterexample{Signature: Signature{Anomaly: "deadlock", Cause: cause, Kinds: []string{fault}}, Faults: 1, Search: Rate{Hits: hits, Runs: 4}}
		w.Schedule = "name: x\nabout: \"x\"\nlocks: [redis]\ncluster: redis\nclients:\n  A: acquire, release\nfaults:\n  - when: before A's acquire\n    " + fault + "\n    until: 1 leases\n"
		return w
	}
	held := of("", "hold: servers to A", 3)
	for name, c := range map[string]struct {
		o    *Counterexample
		same bool
	}{
		"another fault of its links":   {of("", "withhold: servers to A", 3), true},
		"one that came once":           {of("lost-release", "kill: redis", 1), true},
		"a fault of a server":          {of("", "pause: redis", 3), false},
		"a cause":                      {of("lost-hold", "withhold: servers to A", 3), false},
		"a cause that a server brings": {of("lost-release", "kill: redis", 3), false},
	} {
		if held.sameBug(c.o) != c.same || c.o.sameBug(held) != c.same {
			t.Errorf("%s: one bug %v, want %v", name, !c.same, c.same)
		}
	}
	if of("", "hold: servers to A", 1).sameBug(of("lost-release", "kill: redis", 1)) {
		t.Error("two that came once are one bug")
	}
}

func TestLateRenewal(t *testing.T) {
	of := func(anomaly, cause string) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause}, Faults: 1, Search: Rate{Hits: 4, Runs: 4}}
	}
	for _, anomaly := range []string{"wrong-release", "stale-write", "lost-update"} {
		back := of(anomaly, "renewed-late")
		for cause, same := range map[string]bool{"extended": true, "held": false, "released": false} {
			falsely := of("false-belief", cause)
			if back.sameBug(falsely) != same || falsely.sameBug(back) != same {
				t.Errorf("%s of a lock taken back, and one that falsely says %s: one bug %v, want %v", anomaly, cause, !same, same)
			}
			if same && (back.heads(falsely) || !falsely.heads(back)) {
				t.Errorf("the false renewal does not stand for %s", anomaly)
			}
		}
	}
	if of("wrong-release", "").sameBug(of("false-belief", "extended")) {
		t.Error("a release after no renewal is one bug with a false renewal")
	}
}

func TestDrawsLate(t *testing.T) {
	of := func(cause, fault string) *Counterexample {
		w := &Counterexample{Signature: Signature{Anomaly: "token-regression", Cause: cause, Kinds: []string{fault}}, Faults: 1, Search: Rate{Hits: 4, Runs: 4}}
		w.Schedule = "name: x\nabout: \"x\"\nlocks: [redis]\ncluster: redis\nclients:\n  A: acquire, release\nfaults:\n  - when: before A's acquire\n    " + fault + "\n    until: 1 leases\n"
		return w
	}
	held := of("or-overlap", "hold: A to servers")
	for name, c := range map[string]struct {
		o    *Counterexample
		same bool
	}{
		"a slow answer":            {of("or-overlap", "hold: servers to A"), true},
		"a pause":                  {of("or-overlap", "pause: A"), true},
		"a clock":                  {of("or-overlap", "clock: A +5s"), false},
		"a server":                 {of("or-overlap", "pause: redis"), false},
		"a counter that went back": {of("went-back", "hold: servers to A"), false},
	} {
		if held.sameBug(c.o) != c.same || c.o.sameBug(held) != c.same {
			t.Errorf("%s: one bug %v, want %v", name, !c.same, c.same)
		}
	}
}
