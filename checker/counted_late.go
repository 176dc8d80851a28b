package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// countedLate is the cause of a grant that came when the older lease was over as counted from the request that took or renewed the lock, but not
// as its client counts it: from the answer, or from a request that was sent later.
const countedLate = "counted-late"

// lateCount is a lease whose client counts it from later than the request.
type lateCount struct {
	of    *grant
	asked int32  // the request
	sent  int64  // not before this
	begun int64  // when the lease began, as its client counts it
	lease int64  // how long it lasts
	end   int64  // when it ended, if it began with the request
	freed *grant // the one that its client had to wait for; nil for none
}

// countedLateBefore finds such a lease: the newer client had waited for its end, and was granted the lock right after it. There is none if what a server
// knew, or its clock, explains the grant better.
func countedLateBefore(e earlyPair, suspect *part) (c lateCount, ok bool) {
	if e.byService(suspect) {
		return c, false
	}
	for _, g := range e.older {
		if c, ok = g.countedFrom(e.from); ok && c.endAwaited(e) {
			return c, true
		}
	}
	return c, false
}

// byService says that how the older client counts its lease is not what explains the early grant: it was early by a renewal, or all the time that it can have
// come, or what a server knew, or its clock, explains it better.
func (e *earlyPair) byService(suspect *part) bool {
	return e.renewed || e.covered || suspect != nil && suspect.side == verdict.OnServer && rankEarly(*suspect) != rankServer
}

// endAwaited says that the newer client had waited for the end, and was granted the lock right after it.
func (c lateCount) endAwaited(e earlyPair) bool {
	return c.end <= e.from && e.newer.inv >= 0 && e.newer.invT <= c.end && e.newer.lo <= satAdd(c.end, c.lease/4)
}

// countedFrom says from when the client counts the lease that runs at t, if that is later than its request.
func (g *grant) countedFrom(t int64) (c lateCount, ok bool) {
	switch r := g.renewed.furthest(t); {
	case !g.grantedBeyond(t) && r != nil && r.until > t && r.inv >= 0:
		c = lateCount{of: g, asked: r.inv, sent: r.invT, begun: r.until - r.lease, lease: r.lease}
	case g.grantedBeyond(t) && g.inv >= 0 && !g.rivalled(g.lease):
		c = lateCount{of: g, asked: g.inv, sent: g.invT, begun: g.since, lease: g.lease}
		if !g.foundFree() {
			c.sent, c.freed = g.waitedUntil()
		}
	}
	c.end = satAdd(c.sent, c.lease)
	return c, c.of != nil && (c.freed == nil || c.polled())
}

// polled says that the lease had run for so long that the client must have asked once more: a client that waits asks again and again, and none does so
// only twice in a lease. Which of its requests was granted is not known.
func (c lateCount) polled() bool { return c.begun-c.sent >= c.lease/2 }

// countedLate finds a lease that a library promised to renew and whose length nothing promises: its client had asked for one that was over as counted from
// when the lock can have been taken, and not from the answer, which came late. The newer client had waited for that end.
func (n *holdRules) countedLate(d doublePair) (c lateCount, ok bool) {
	g := d.older[0]
	if len(d.older) > 1 || !g.watchdog || !g.hasNoLease() || n.ttl == 0 || g.inv < 0 || d.newer.inv < 0 || g.rivalled(n.ttl) {
		return c, false
	}
	c = lateCount{of: g, asked: g.inv, sent: g.invT, begun: g.okT, lease: n.ttl}
	if !g.foundFree() {
		c.sent, c.freed = g.waitedUntil()
	}
	c.end = satAdd(c.sent, c.lease)
	return c, c.begun-c.sent >= c.lease/4 && (c.freed == nil || c.polled()) && c.spentBefore(d.newer)
}

// spentBefore says that the newer client had waited for the end of the lease, and was granted the lock at about that time.
func (c lateCount) spentBefore(newer *grant) bool {
	after := newer.okT - satAdd(c.sent, int64(spent*float64(c.lease)))
	return newer.invT <= c.end && after >= 0 && after <= c.lease/2
}

// rivalled says that another client may have had the lock before g, by a request whose answer came later than g's, or is not known. Who has the lock when
// is not known then.
func (g *grant) rivalled(lease int64) bool {
	k := g.lock
	later := k.grants[g.n+1 : min(len(k.grants), int(g.n)+1+maxBetween)]
	if slices.ContainsFunc(later, func(o *grant) bool { return o.process != g.process && o.inv >= 0 && o.invT < g.invT }) {
		return true
	}
	n, _ := slices.BinarySearchFunc(k.acquires, g.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	return slices.ContainsFunc(k.acquires[max(0, n-maxBetween):n], func(o *op) bool {
		return o.process != g.process && o.typ == tInfo && satAdd(o.endT, lease) > g.invT
	})
}

// foundFree says that the lock was free when the grant was asked for, by all that is known, and that no other client was granted it first.
func (g *grant) foundFree() bool {
	taken := int64(0)
	for _, o := range g.lock.grants[max(0, int(g.n)-maxBetween):g.n] {
		freed := o.release != nil && o.release.typ == tOK && o.release.endT <= g.invT
		if !freed && (o.okT > g.invT || o.hasNoLease() || o.mayLast(g.invT)) {
			taken++
		}
	}
	return taken == 0 || taken < g.lock.permits
}

// waitedUntil is since when the lock may have been free that the grant had to wait for, and which grant it waited for last; never if another
// client's hold promises no end.
func (g *grant) waitedUntil() (since int64, last *grant) {
	since = g.invT
	for _, o := range g.lock.grants[max(0, int(g.n)-maxBetween):g.n] {
		freed := never
		if !o.hasNoLease() {
			freed = o.promised
			// A renewal of unknown outcome may have had it last: nobody knows how long the client really waited.
			if asked := o.maybeRenewed(g.okT); len(asked) > 0 {
				freed = satAdd(asked[len(asked)-1].endT, o.lease)
			}
		}
		if r := o.release; r != nil && r.endT <= g.okT { // else it may be carried out still
			freed = min(freed, r.invT)
		}
		if last == nil || freed > since {
			since, last = max(since, freed), o
		}
	}
	return since, last
}

// unpromisedWords say so of a lease that nothing promises.
func (c lateCount) unpromisedWords() string {
	since := "its client asked for it"
	if c.freed != nil {
		since = fmt.Sprintf("%s's was over", c.freed.process)
	}
	return fmt.Sprintf("; counted from when %s, %s before the answer, %s's lease of %s was over", since, dur(c.begun-c.sent), c.of.process, dur(c.lease))
}

func (c lateCount) unpromisedEvidence(newer *grant) []int32 {
	return append([]int32{c.asked, newer.inv}, c.freedEvidence(c.atOnce().spentBefore(newer))...)
}

// atOnce is c if its client had waited for no other.
func (c lateCount) atOnce() lateCount {
	c.sent, c.end = c.of.invT, satAdd(c.of.invT, c.lease)
	return c
}

// freedEvidence are the events that show since when the lock was free that the client waited for; none if it tells as much that it waited for no other.
func (c lateCount) freedEvidence(asMuch bool) []int32 {
	switch g := c.freed; {
	case g == nil, asMuch:
		return nil
	case g.release != nil && g.release.invT == c.sent && g.release.inv >= 0:
		return []int32{g.ok, g.release.inv, g.release.comp}
	default:
		return []int32{g.ok, g.promiseEvidence(g.promised - 1)}
	}
}

// words say when the lease had been over before t.
func (c lateCount) words(t int64) string {
	if c.freed != nil {
		return fmt.Sprintf("; counted from when %s's was over, %s before %s counts it, it had ended %s earlier", c.freed.process, dur(c.begun-c.sent), c.of.process, dur(t-c.end))
	}
	return fmt.Sprintf("; counted from the request, which %s had sent %s before, it had been over for %s", c.of.process, dur(c.begun-c.sent), dur(t-c.end))
}

// evidence lists the events that show it.
func (c lateCount) evidence(e earlyPair) []int32 {
	return append([]int32{c.asked, e.newer.inv}, c.freedEvidence(c.atOnce().endAwaited(e))...)
}

// countedLate says so of an early grant, and blames what befell the client between its request and when it counts from.
func (c *earlyCase) countedLate() (reason, bool) {
	l, ok := countedLateBefore(c.earlyPair, c.blame.suspect)
	if !ok {
		return reason{}, false
	}
	blame := c.an.suspects.held(l.of, interval{l.sent, l.begun}, l.of.leaseLeft(c.from), true)
	return reason{cause: countedLate, words: l.words(c.from), refs: l.evidence(c.earlyPair), blame: &blame}, true
}
