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
