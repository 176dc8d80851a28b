package hunt

import "testing"

// TestMergeLeases: what takes another lease is no counterexample of its own where the same breaks
// without one, however many steps that has.
func TestMergeLeases(t *testing.T) {
	of := func(steps int, kinds ...string) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: "wrong-release", Kinds: kinds}, Steps: steps, Search: Rate{Hits: 9, Runs: 10}, Seen: 1}
	}
	for name, c := range map[string]struct {
		counterexamples []*Counterexample
		want            int
	}{
		"more steps without another lease": {[]*Counterexample{of(5, "a lease of 1.5s"), of(9)}, 1},
		"two leases":                       {[]*Counterexample{of(5, "a lease of 1.5s"), of(9, "a lease of 3s")}, 2},
	} {
		h := &Search{counterexamples: c.counterexamples}
		h.merge()
		if len(h.counterexamples) != c.want || len(c.counterexamples[1].Kinds) == 0 && len(h.counterexamples[0].Kinds) != 0 {
			t.Errorf("%s: %d stay, of them %v first, want %d", name, len(h.counterexamples), h.counterexamples[0].Kinds, c.want)
		}
	}
}
