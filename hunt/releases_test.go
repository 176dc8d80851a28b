package hunt

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// found is a counterexample that came in each of four runs, by a fault.
func found(anomaly, cause, fault string) *Counterexample {
	w := &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause}, Search: Rate{Hits: 4, Runs: 4}, Evidence: &Evidence{Anomaly: verdict.Anomaly{Name: anomaly, Cause: cause}}}
	w.Schedule = "name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, read, release\n  B: acquire, read, release\n"
	if fault != "" {
		w.Faults = 1
		w.Schedule += "faults:\n  - when: before A's read\n    " + fault + "\n    until: 3 leases\n"
	}
	return w
}

// pair is two counterexamples, and whether they are one bug.
type pair struct {
	name string
	w, o *Counterexample
	same bool
}

func checkPairs(t *testing.T, pairs []pair) {
	t.Helper()
	for _, p := range pairs {
		if p.w.sameBug(p.o) != p.same || p.o.sameBug(p.w) != p.same {
			t.Errorf("%s: one bug %v, want %v", p.name, !p.same, p.same)
		}
	}
}

// TestFreesToo: a release that a third client sent and that was confirmed while the lease ran is what the proved wrong release is, even if it is not known
// whether the third client's own lease was over.
func TestFreesToo(t *testing.T) {
	freed := found("wrong-release", "", "pause: A")
	early := func(of string, sent, answered int64, typ history.Type) *Counterexample {
		w := found("granted-early", "granted-early", "hold: A to redis")
		w.Evidence.Anomaly.Grants = []string{"B.1", "C.1"}
		w.Evidence.Events = []history.Event{
			{Time: 1e6, Process: of, F: history.Acquire, Type: history.OK, Grant: of + ".1", Since: 1e6, Lease: 4e6},
			{Time: 5e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1"},
			{Time: sent, Process: of, F: history.Release, Type: history.Invoke, Grant: of + ".1"},
			{Time: answered, Process: of, F: history.Release, Type: typ, Grant: of + ".1"},
			{Time: 9e6, Process: "C", F: history.Acquire, Type: history.OK, Grant: "C.1"},
		}
		return w
	}
	running, renewed := early("A", 6e6, 7e6, history.OK), early("A", 6e6, 7e6, history.OK)
	running.Evidence.Events[0].Lease = 6e6
	renewed.Evidence.Events = slices.Insert(renewed.Evidence.Events, 1, history.Event{Time: 2e6, Process: "A", F: history.Renew, Type: history.OK, Grant: "A.1", Since: 2e6, Lease: 5e6})
	checkPairs(t, []pair{
		{"its own lease ran", running, freed, false},
		{"its own lease ran, renewed", renewed, freed, false},
		{"a third client's release", early("A", 6e6, 7e6, history.OK), freed, true},
		{"it came once", seenOnce(early("A", 6e6, 7e6, history.OK)), freed, true},
		{"the wrong release came once", early("A", 6e6, 7e6, history.OK), seenOnce(found("wrong-release", "", "pause: A")), false},
		{"the holder's own", early("B", 6e6, 7e6, history.OK), freed, false},
		{"the next client's", early("C", 6e6, 7e6, history.OK), freed, false},
		{"sent before the lease", early("A", 4e6, 7e6, history.OK), freed, false},
		{"answered after the next grant", early("A", 6e6, 10e6, history.OK), freed, false},
		{"refused", early("A", 6e6, 7e6, history.Fail), freed, false},
	})
}

// TestLostTheSame: a lock that nobody gets after a lost release is one bug, whether a client's link or a server lost it.
func TestLostTheSame(t *testing.T) {
	checkPairs(t, []pair{
		{"by a client's link and by a server's crash", found("deadlock", "lost-release", "hold: A to redis"), found("deadlock", "lost-release", "kill: redis"), true},
		{"the crash came once", found("deadlock", "lost-release", "hold: A to redis"), seenOnce(found("deadlock", "lost-release", "kill: redis")), true},
		{"the client's came once", seenOnce(found("deadlock", "lost-release", "hold: A to redis")), found("deadlock", "lost-release", "cut: redis from A"), true},
		{"by two servers' faults", found("deadlock", "lost-release", "pause: redis"), found("deadlock", "lost-release", "refuse: redis"), false},
		{"of another cause", found("deadlock", "lost-release", "hold: A to redis"), found("deadlock", "stuck-queue", "kill: redis"), false},
	})
}

// TestSameTokens: tokens that do not rise are one bug, whatever shows them, unless the record tells why.
func TestSameTokens(t *testing.T) {
	forgot := found("token-regression", "", "kill: redis")
	forgot.Evidence.Anomaly.Suspect = &verdict.Suspect{Fault: "kill", On: verdict.OnServer}
	checkPairs(t, []pair{
		{"by two faults", found("token-regression", "", "hold: A to redis"), found("token-regression", "", "cut: redis from A"), true},
		{"one came once", found("token-regression", "", "hold: A to redis"), seenOnce(found("token-regression", "", "clock: A -2s")), true},
		{"a client's clock", found("token-regression", "", "hold: A to redis"), found("token-regression", "", "clock: A -2s"), false},
		{"a server forgot the counter", found("token-regression", "", "hold: A to redis"), forgot, false},
		{"a token that was given before", found("token-regression", "", "hold: A to redis"), found("token-reuse", "", "pause: A"), false},
		{"the counter went back", found("token-regression", "", "hold: A to redis"), found("token-regression", "went-back", "pause: A"), false},
	})
}

// TestRenewedEnded: a lock that extends a lease that has ended is one bug, whether another client had the lock by then or got it afterwards.
func TestRenewedEnded(t *testing.T) {
	early, lie := found("granted-early", "renewed-ended", ""), found("false-belief", "extended", "pause: A")
	paused, held := found("granted-early", "renewed-meanwhile", "pause: A"), found("granted-early", "renewed-meanwhile", "hold: A to redis")
	if !paused.sameBug(held) || !paused.sameBug(lie) || !lie.heads(paused) || paused.sameBug(found("granted-early", "granted-early", "hold: A to redis")) {
		t.Error("renewals that were under way when another client was granted the lock are not one bug, or another one is the same")
	}
	if !early.sameBug(lie) || !lie.sameBug(early) || !lie.heads(early) || early.heads(lie) {
		t.Error("not one bug, which the false answer proves")
	}
	if other := found("false-belief", "released", "pause: A"); early.sameBug(other) || other.sameBug(early) {
		t.Error("a release that was confirmed is the same bug")
	}
}
