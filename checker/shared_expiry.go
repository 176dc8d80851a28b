package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// sharedExpiry is the cause of a grant that came when the lease of an earlier client ended, although others of the same
// lock had time left: permits or readers' shares that expire together. Two clients that count and take in two steps, and had
// both waited for that lease, look the same.
const sharedExpiry = "shared-expiry"

// expired is a lease that ended right before clients were let in although others, which had begun later, had time left.
type expired struct {
	of *grant
	// waiter had waited for that end: the grant that was one too many, or one that was given first and left no room for it.
	waiter *grant
}

// expiredBefore finds such a lease; there is none if a fault of a server may have ended the others.
func expiredBefore(e earlyPair, suspect *part) (x expired, ok bool) {
	k := e.newer.lock
	if k.mutex() || k.nested || e.renewed || suspect != nil && suspect.side == verdict.OnServer {
		return x, false
	}
	for _, g := range slices.Backward(k.grants[:e.newer.n]) {
		if g.lease <= 0 || g.promised > e.from || e.from-g.promised > g.lease/20 {
			continue
		}
		if g.lostT < g.promised || g.release != nil && g.release.invT < g.promised {
			continue // it did not last until then
		}
		began := func(o *grant) bool { return o.hasNoLease() || o.since <= g.since || !together(o, g) }
		if slices.ContainsFunc(e.older, began) {
			continue
		}
		waited := func(o *grant) bool { return o.inv >= 0 && o.invT < g.promised && o.okT >= g.promised }
		if waited(e.newer) {
			return expired{g, e.newer}, true
		}
		if i := slices.IndexFunc(e.older, waited); i >= 0 {
			return expired{g, e.older[i]}, true
		}
	}
	return x, false
}

// words say which lease had ended before t.
func (x expired) words(t int64) string {
	return fmt.Sprintf("; %s's lease, which had begun before, had ended %s earlier", x.of.process, dur(t-x.of.promised))
}

// evidence lists the events that show it.
func (x expired) evidence() []int32 {
	return []int32{x.of.ok, x.of.promiseEvidence(x.of.promised - 1), x.waiter.inv}
}

// sharedExpiry says so of an early grant.
func (c *earlyCase) sharedExpiry() (reason, bool) {
	x, ok := expiredBefore(c.earlyPair, c.blame.suspect)
	if !ok {
		return reason{}, false
	}
	return reason{cause: sharedExpiry, words: x.words(c.from), refs: x.evidence()}, true
}
