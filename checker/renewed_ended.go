package checker

import (
	"fmt"
)

// renewedEnded is the cause of a grant that came when the older lease had ended, but for a renewal that was sent when it was over.
const renewedEnded = "renewed-ended"

// endedRenewal is a renewal of a lease that had ended, as its client counts it, before it was sent.
type endedRenewal struct {
	of    *grant
	by    *renewal
	since int64 // when the client learnt of the lease that it had before
	end   int64 // when that lease was over
	proof int32 // the renewal that had promised it; -1: the grant
}

// renewedEndedBefore finds such a renewal: the newer client had waited for the lease's end, and was granted the lock right after it. There is none if what
// a server knew, or its clock, explains the grant better.
func renewedEndedBefore(e earlyPair, suspect *part) (r endedRenewal, ok bool) {
	if e.byService(suspect) {
		return r, false
	}
	for _, g := range e.older {
		if r, ok = g.renewedWhenOver(e.from); ok && r.endAwaited(e) {
			return g.waitedFirst(r, e)
		}
	}
	return r, false
}

// renewedWhenOver is the renewal by which the lease runs at t, if the lease had ended before it was sent.
func (g *grant) renewedWhenOver(t int64) (r endedRenewal, ok bool) {
	by := g.renewed.furthest(t)
	if by == nil || by.inv < 0 || g.lease == 0 || g.grantedBeyond(t) || len(g.lock.inHoldOf(g)) > 1 {
		return r, false
	}
	r = endedRenewal{of: g, by: by, since: g.okT, end: satAdd(g.since, g.lease), proof: -1}
	if before := g.renewed.furthest(by.okT - 1); before != nil && before.until > r.end {
		r.since, r.end, r.proof = before.okT, before.until, before.ok
	}
	return r, r.end < by.invT && g.ofHold().maybeRenewedFrom(r.end, by.invT) == nil
}

// waitedFirst is the renewal with the end that the lease had if it began when another one was over which its client had to wait for: what it says of its begin is no more
// than when it asked, by one request. There is none if that lease had not ended by then, or if the newer client had not waited for that end.
func (g *grant) waitedFirst(r endedRenewal, e earlyPair) (endedRenewal, bool) {
	if r.proof >= 0 || g.foundFree() {
		return r, true
	}
	began, _ := g.waitedUntil()
	r.end = max(r.end, satAdd(began, g.lease))
	return r, r.end < r.by.invT && r.endAwaited(e)
}

// endAwaited says that the newer client had waited for the end, and was granted the lock soon after it: services look for leases that are over only
// now and then. The newer lease runs by its own promise.
func (r endedRenewal) endAwaited(e earlyPair) bool {
	return (e.newer.hasNoLease() || e.newer.grantedBeyond(e.from)) && e.newer.inv >= 0 && e.newer.invT <= r.end && e.newer.lo <= satAdd(r.end, r.by.lease/4)
}

// words say how long the lease had been over.
func (r endedRenewal) words() string {
	return fmt.Sprintf("; the lease had been over for %s when %s sent its renewal, and the service agreed", dur(r.by.invT-r.end), r.of.process)
}

// evidence lists the events that show it.
func (r endedRenewal) evidence(e earlyPair) []int32 {
	refs := []int32{r.of.ok, r.by.inv, r.by.ok, e.newer.inv}
	if r.proof >= 0 {
		refs = append(refs, r.proof)
	}
	return refs
}

// renewedEnded says so of an early grant, and blames what befell the client before it sent its renewal.
func (c *earlyCase) renewedEnded() (reason, bool) {
	r, ok := renewedEndedBefore(c.earlyPair, c.blame.suspect)
	if !ok {
		return reason{}, false
	}
	blame := c.an.suspects.held(r.of, interval{r.since, r.by.invT}, r.by.invT-r.end, true)
	return reason{cause: renewedEnded, words: r.words(), refs: r.evidence(c.earlyPair), blame: &blame}, true
}
