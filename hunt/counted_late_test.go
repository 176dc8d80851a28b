package hunt

import (
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// TestCountedLate: a lease that is counted from the answer is one bug, whatever keeps the answer back; the counterexample whose record shows that
// stands for the others.
func TestCountedLate(t *testing.T) {
	of := func(cause string, hits int) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: "granted-early", Cause: cause}, Search: Rate{Hits: hits, Runs: 4}, Evidence: &Evidence{}}
	}
	shown := func(hits int) *Counterexample {
		w := of(countedLate, hits)
		w.Evidence.Anomaly.Suspect = &verdict.Suspect{Fault: "hold", On: verdict.OnClient}
		return w
	}
	// waited is a grant of no known cause, for which the client had waited 50 ms when its lease began.
	waited := func(hits int, left, renewed int64) *Counterexample {
		w := of("granted-early", hits)
		w.Evidence.Anomaly = verdict.Anomaly{Grants: []string{"A.1", "B.1"}, Sizes: map[string]int64{"remaining": left}}
		if renewed > 0 {
			w.Evidence.Anomaly.Sizes["since_renewal"] = renewed
		}
		w.Evidence.Events = []history.Event{
			{Index: 1, Time: 10e6, Process: "A", F: history.Acquire, Type: history.Invoke},
			{Index: 2, Time: 62e6, Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1", Since: 60e6, Lease: 100e6},
			{Index: 3, Time: 120e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1", Since: 118e6, Lease: 100e6}}
		return w
	}
	// whole is such a grant after a wait of a whole lease.
	whole := func(hits int) *Counterexample {
		w := waited(hits, 99e6, 0)
		w.Evidence.Events[0].Time = -40e6
		return w
	}
	// token is a smaller token of B's, asked for then, while A was granted the lock at 20 ms.
	token := func(asked int64) *Counterexample {
		w := of("", 4)
		w.Anomaly = "token-regression"
		w.Evidence.Anomaly = verdict.Anomaly{Name: "token-regression", Grants: []string{"A.1", "B.1"}}
		w.Evidence.Events = []history.Event{
			{Index: 1, Time: 20e6, Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1", Token: 2, Lease: 100e6},
			{Index: 2, Time: asked, Process: "B", F: history.Acquire, Type: history.Invoke},
			{Index: 3, Time: 120e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1", Token: 1, Since: 119e6, Lease: 100e6}}
		return w
	}
	for _, c := range []struct {
		name        string
		a, b        *Counterexample
		same, heads bool // and b stands for both
	}{
		{"two faults", of(countedLate, 4), shown(4), true, true},
		{"the fault shows in the first", shown(4), of(countedLate, 4), true, false},
		{"the fault shows in both", shown(4), shown(4), true, false},
		{"the fault shows in one that came once", of(countedLate, 4), shown(1), true, false},
		{"less than a millisecond early", shown(4), of(rounded, 4), true, false},
		{"less than a millisecond early, first", of(rounded, 4), of(countedLate, 4), true, true},
		{"two that are less than a millisecond early", of(rounded, 4), of(rounded, 1), false, false},
		{"another cause", shown(4), of("late-release", 4), false, false},
		{"one that came once and had waited", shown(4), waited(1, 50e6, 0), true, false},
		{"one that came once and had waited, first", waited(1, 50e6, 0), shown(4), true, true},
		{"one that had not waited for as long", shown(4), waited(1, 51e6, 0), false, false},
		{"one that always comes", shown(4), waited(4, 50e6, 0), false, false},
		{"one that was renewed", shown(4), waited(1, 50e6, 20e6), false, false},
		{"one that always comes and had waited for a whole lease", shown(4), whole(4), true, false},
		{"two that had waited for a whole lease", whole(4), whole(4), false, false},
		{"a token from before another's grant", shown(4), token(5e6), true, false},
		{"a token from before another's grant, answered within a lease", shown(4), token(19.5e6), false, false},
		{"a token from after another's grant", shown(4), token(21e6), false, false},
		{"two that came once and had waited", waited(1, 50e6, 0), waited(1, 40e6, 0), false, false},
	} {
		if c.a.sameCount(c.b) != c.same || c.b.sameCount(c.a) != c.same || c.same && !c.a.sameBug(c.b) {
			t.Errorf("%s: one bug %v, want %v", c.name, !c.same, c.same)
		}
		if c.same && c.b.heads(c.a) != c.heads {
			t.Errorf("%s: the second stands for both: %v, want %v", c.name, !c.heads, c.heads)
		}
	}
}

// TestEvidenceTellsTheCause: of a run's anomalies of one kind, the one with the very cause is the evidence, if there is one.
func TestEvidenceTellsTheCause(t *testing.T) {
	early := func(cause string, at int64) verdict.Anomaly {
		return verdict.Anomaly{Name: "granted-early", Property: verdict.Exclusion, Cause: cause, Time: at, Grants: []string{"A.1", "B.1"}}
	}
	sig := Signature{Anomaly: "granted-early", Cause: countedLate}
	for _, c := range []struct {
		name string
		list []verdict.Anomaly
		want string
	}{
		{"first the general one", []verdict.Anomaly{early("granted-early", 1), early(countedLate, 2)}, countedLate},
		{"first the very one", []verdict.Anomaly{early(countedLate, 1), early("granted-early", 2)}, countedLate},
		{"the general one only", []verdict.Anomaly{early("granted-early", 1)}, "granted-early"},
	} {
		got := evidenceOf(&Outcome{Verdict: verdict.Verdict{Anomalies: c.list}}, sig)
		if got == nil || got.Anomaly.Cause != c.want {
			t.Errorf("%s: %+v, want the cause %s", c.name, got, c.want)
		}
	}
}
