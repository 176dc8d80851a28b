package hunt

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// The deepest anomaly heads its bug, whichever came first in the order.
func TestDeepestHeads(t *testing.T) {
	act := []Act{{Client: "A", Do: history.Release, Nth: 1, Without: Rate{Runs: withoutActRuns}}}
	w := func(anomaly string, second float64) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly}, Acts: act, Search: Rate{Hits: 4, Runs: 4}, Seen: 1, FirstSecond: second}
	}
	h := &Search{counterexamples: []*Counterexample{w("double-grant", 1), w("granted-early", 2), w("wrong-release", 3), w("granted-early", 4)}}
	h.group()
	if len(h.counterexamples) != 1 {
		t.Fatalf("%d bugs", len(h.counterexamples))
	}
	head := h.counterexamples[0]
	var of []string
	for _, v := range head.Variants {
		of = append(of, v.Anomaly)
		if len(v.Variants) > 0 {
			t.Errorf("the variant %s has variants", v)
		}
	}
	joint := &Counterexample{Signature: Signature{Anomaly: "token-regression", Cause: "or-overlap"}, Search: Rate{Hits: 4, Runs: 4}}
	if overlap := w("double-grant", 1); joint.heads(overlap) || !overlap.heads(joint) {
		t.Error("what may be an overlap heads one that is proved")
	}
	race := &Evidence{Anomaly: verdict.Anomaly{Grants: []string{"A.1", "B.1"}}, Events: []history.Event{
		{Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1", Time: 5e6, Since: 2e6, Lease: 1e9},
		{Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1", Time: 6e6, Since: 2e6, Lease: 1e9},
	}}
	token, overlap := w("token-reuse", 1), w("granted-early", 2)
	token.Evidence, overlap.Evidence = race, race
	if token.heads(overlap) || !overlap.heads(token) {
		t.Error("the token of a race heads the overlap")
	}
	once, often := w("wrong-release", 1), w("granted-early", 2)
	once.Search, once.Alone = Rate{Hits: 1, Runs: 1}, Rate{Runs: 20}
	often.Search = Rate{Hits: 4, Runs: 20}
	if once.heads(often) || !often.heads(once) {
		t.Error("what came once heads what came often")
	}
	if head.Anomaly != "wrong-release" || head.Seen != 4 || head.FirstSecond != 1 || !slices.Equal(of, []string{"granted-early", "double-grant", "granted-early"}) {
		t.Errorf("%s of %q, seen %d times, first after %v s", head, of, head.Seen, head.FirstSecond)
	}
}
