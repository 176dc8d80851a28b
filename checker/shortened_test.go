package checker

import (
	"testing"
	"time"
)

// TestManyRenewedForLess: a client that renews its lease for less than what was left, very often, takes no longer than any other.
func TestManyRenewedForLess(t *testing.T) {
	const n = 50_000
	g := &grant{lease: 1e12, okT: 1, lostT: never, askedT: never, lock: &lock{}}
	for i := range int64(n) {
		g.addRenewal(renewal{inv: 1, ok: 2, invT: 2 + 20*i, okT: 3 + 20*i, lease: 5, until: 7 + 20*i, heldUntil: 2 + 20*i})
	}
	start := time.Now()
	g.findAlive()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := len(g.intervals()); got != n {
		t.Errorf("alive in %d intervals, want %d", got, n)
	}
}

// TestSkewRenewedForLess: that a client renewed its lease for less than what was left, one renewal soon after the other, is
// so by any clock. What is broken of another lock by the times as they are is no reason to accuse this one.
func TestSkewRenewedForLess(t *testing.T) {
	in := script(t, `
0.100-0.200 c1 acquire c1.1 lease=1
0.300-0.330 c1 renew c1.1 lease=10
0.350-0.400 c1 renew c1.1 lease=0.5
0.500-1.950 c2 acquire c2.1 since=1.900 lease=1
2.000-2.100 c2 release c2.1
2.500-2.600 c1 release c1.1
0.100-0.200 c3 acquire c3.1 lease=1 key=k1
0.600-1.060 c4 acquire c4.1 lease=1 since=0.900 key=k1
1.075-1.200 c3 release c3.1 key=k1
1.200-1.300 c4 release c4.1 key=k1
`)
	in.Options.Skew = 100e6
	if p := Check(in).Properties[Exclusion]; p.Valid != Unknown {
		t.Errorf("exclusion is %v, want unknown: %s", p.Valid, p.Why)
	}
}
