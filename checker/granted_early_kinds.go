package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// confirmedLater is, of a semaphore, an older grant that had ended by what it had been promised when the newer one came, and was in force then only by the
// lock's later word: the renewal that was answered with it. Either the newer grant was one too many, or that word is false; since
// the newer one fits what had been promised, it is the renewal that took what was another's. nil for none.
func (e *earlyPair) confirmedLater() (*grant, *renewal) {
	if e.newer.lock.permits == 0 || e.newer.promisedBy(e.from) <= e.from {
		return nil, nil // it is in force by such a word itself
	}
	for _, g := range e.older {
		if g.hasNoLease() || g.mayLast(e.from) || g.okT >= e.newer.lo {
			continue
		}
		if r := g.renewed.provesBeyond(e.from); r != nil {
			return g, r
		}
	}
	return nil, nil
}

// confirmedLost is the cause of a grant that came when the older lease had ended by all that had been promised. It is in force only by the lock's
// answer to the release, which was sent after the newer grant. Of a mutex such an answer is a false-belief.
const confirmedLost = "confirmed-lost"

// releasedLater is such an older grant; nil for none.
func (e *earlyPair) releasedLater() *grant {
	k := e.newer.lock
	if e.renewed || e.newer.promisedBy(e.from) <= e.from { // the newer one is in force by such a word itself
		return nil
	}
	for _, g := range e.older {
		lasts := func(o *grant) bool { return o.mayLast(e.from) }
		if g.releaseHeld() && g.renewed.provesBeyond(e.from) == nil && !g.hasNoLease() && g.okT < e.newer.lo && !slices.ContainsFunc(k.inHoldOf(g), lasts) {
			return g
		}
	}
	return nil
}

// releasedLost says why the older hold of a mutex, which promises no lease, may have ended before the newer grant came: nothing but the lock's answer to
// its release, which was sent after that grant, says that it had not. "" if it can only have been in force, or if a server's fault may be what let in two:
// of servers that are apart, each may be right.
func (n *holdRules) releasedLost(e earlyPair, suspect *part) string {
	g := e.older[0]
	if !e.newer.lock.mutex() || e.renewed || e.n() > 1 || suspect != nil && suspect.side == verdict.OnServer {
		return ""
	}
	if !g.hasNoLease() || !g.releaseHeld() || g.renewed.provesBeyond(e.from) != nil {
		return ""
	}
	switch over := n.presumedHold(g).to; {
	case over > e.from:
		return ""
	case over == n.harmed(g):
		return fmt.Sprintf("; a fault that began by %s may have ended the hold, and then the answer is false", format.Instant(over))
	case over == g.believedEnd: // its client had asked for the lock again, which ends nothing
		return ""
	default:
		return "; the lease that its client had asked for was over by then, and if that ended the hold, the answer is false"
	}
}

// learntOver says the same of the newer grant of a mutex, whose client had its answer when the lease was over, by all that had been promised, and the older
// grant had followed that lease. "" if it had time left, or if a server's fault may be what let in two.
func (e *earlyPair) learntOver(suspect *part) string {
	g := e.newer
	if !g.lock.mutex() || e.renewed || e.n() > 1 || suspect != nil && suspect.side == verdict.OnServer {
		return ""
	}
	over := g.promisedBy(e.from)
	if g.hasNoLease() || over > e.older[0].lo || !g.releaseHeld() || g.renewed.provesBeyond(e.from) != nil {
		return ""
	}
	return fmt.Sprintf("; the lease of %s had ended %s before that, and if it had ended for the service, too, the lock's answer to its release is false", g.process, dur(e.from-over))
}

// confirmedLost says so of an early grant.
func (c *earlyCase) confirmedLost() (reason, bool) {
	why := c.an.holdRules.releasedLost(c.earlyPair, c.blame.suspect)
	if why == "" {
		why = c.learntOver(c.blame.suspect)
	}
	return reason{cause: confirmedLost, words: why}, why != ""
}

// sinceEntry is how long before the newer grant the older client had entered the lock again, if nothing but the lease that it was promised then had time
// left; 0 if not.
func (e *earlyPair) sinceEntry() int64 {
	g := e.older[0]
	if g.mode != nested || e.n() > 1 || g.promisedBy(e.from) <= e.from {
		return 0
	}
	lasts := func(o *grant) bool { return o != g && (o.hasNoLease() || o.mayLast(e.from)) }
	if slices.ContainsFunc(g.lock.inHoldOf(g), lasts) {
		return 0
	}
	return e.from - g.okT
}

// sinceInner is how long before the newer grant the older client had released one entry of the hold that it still had; 0 if it had not.
func (e *earlyPair) sinceInner() int64 {
	g := e.older[0]
	if e.n() > 1 || !g.lock.nested {
		return 0
	}
	for _, o := range slices.Backward(g.lock.releasedBefore(e.from)) {
		if o.process == g.process && o.typ == tOK && o.grant.ofHold() == g.ofHold() {
			return e.from - o.invT
		}
	}
	return 0
}

// explainCrowd explains a grant that was one too many, and returns the refs of the evidence.
func explainCrowd(e earlyPair, a *Anomaly) []int32 {
	newer, first := e.newer, e.older[0]
	refs := newer.evidenceAt(e.from)
	until := min(newer.aliveUntil(e.from), e.until)
	if a.More = e.more; e.more > 0 {
		a.Sizes["remaining"] = min(a.Sizes["remaining"], e.until-e.from)
	}
	for _, g := range e.older {
		refs = append(refs, g.evidenceAt(e.from)...)
		a.Sizes["remaining"] = min(a.Sizes["remaining"], g.leaseLeft(e.from))
		until = min(until, g.aliveUntil(e.from))
	}
	a.Sizes["overlap"] = until - e.from
	what := newer.gets()
	if e.renewed {
		var unsure []int32
		a.Cause, what, unsure = newer.renewedEarly(e.from)
		refs = append(refs, unsure...)
	}
	if over := e.releasedLater(); over != nil {
		a.Cause = confirmedLost
		if first := over.leasedBy(); over.knownLate() && satAdd(over.okT, over.lease) > e.from-2*over.lock.margin { // else it was over, whenever it had begun
			refs = append(refs, first.ok)
		}
		a.Explanation = fmt.Sprintf("%s by %s, when %s's lease had ended %s before; the lock confirmed %s's release, sent %s later, as if it had been in force until then",
			what, format.Instant(e.from), over.process, dur(e.from-over.promisedBy(e.from)), over.process, dur(over.release.invT-e.from))
		return refs
	}
	if over, by := e.confirmedLater(); over != nil {
		a.Cause = "renewed-early"
		a.Explanation = fmt.Sprintf("%s's lease had ended %s before, and %s by %s; the lock renewed %s's by %s, and said that it had been in force until then",
			over.process, dur(e.from-over.promisedBy(e.from)), what, format.Instant(e.from), over.process, format.Instant(by.okT))
		return refs
	}
	if n := newer.lock.permits; n > 0 {
		a.Sizes["permits"] = n
		promise := "lease"
		if !slices.ContainsFunc(e.older, func(g *grant) bool { return !g.hasNoLease() }) { // by what the lock said later
			promise = "hold"
		}
		left := fmt.Sprintf("the %ss of %s certainly had at least %s", promise, e.processes(), dur(a.Sizes["remaining"]))
		if e.n() == 1 {
			left = fmt.Sprintf("the %s of %s certainly had %s", promise, first.process, dur(a.Sizes["remaining"]))
		}
		a.Explanation = fmt.Sprintf("%s by %s, while %s out: %s left", what, format.Instant(e.from), permitWords(n), left)
		return refs
	}
	if n := e.sinceEntry(); n > 0 {
		a.Sizes["since_entry"] = n
	}
	if n := e.sinceInner(); n > 0 {
		a.Sizes["since_inner"] = n
	}
	if w := newer.givenWithin(); !e.renewed && newer.mode == exclusive && first.mode == exclusive && len(newer.evidenceAt(e.from)) > 1 && first.aliveOver(w.from, w.to) && !first.startsAt(w.from) {
		refs = coverEvidence(e) // as between two grants of a mutex
	}
	a.Explanation = fmt.Sprintf("%s by %s, while %s's %s, granted %s earlier, certainly had %s left",
		what, format.Instant(e.from), first.process, first.claim(), dur(e.from-first.okT), dur(a.Sizes["remaining"]))
	return refs
}
