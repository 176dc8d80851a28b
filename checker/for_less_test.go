package checker

import (
	"testing"
	"time"
)

// TestManyUnanswered: a lease with very many renewals, some of which have no answer, is asked about very often. That takes no longer than any other.
func TestManyUnanswered(t *testing.T) {
	const n = 20_000
	g := &grant{lease: 1e12, okT: 1, lostT: never, askedT: never, lock: &lock{shortest: 5}}
	for i := range int64(n) {
		at := 2 + 20*i
		if i%2 == 0 {
			g.askRenewal(&op{f: fRenew, grant: g, invT: at, endT: never})
		}
		g.addRenewal(renewal{inv: 1, ok: 2, invT: at, okT: at + 1, lease: 1e12, until: at + 1e12, heldUntil: at})
	}
	start := time.Now()
	g.findAlive()
	for i := range int64(n) {
		g.leaseLeft(20 * i)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if left := g.leaseLeft(20*n - 15); left > 5 {
		t.Errorf("%d left, want 5 at most", left)
	}
}
