package checker

import "slices"

// secondAfter says of a release that its client had sent another one of the same grant before, of which nobody knows what came, and that a victim was granted the
// lock later: the first one was probably carried out, or the lock ought not to have let the victim in. A
// renewal whose answer is not known, or that the library makes by itself, may have taken the lock back.
func (o *op) secondAfter(victim *grant) bool {
	g := o.grant
	first := g.release
	return first != nil && first != o && first.typ == tInfo && first.invT < victim.okT && victim.okT < o.invT && !g.watchdog && g.unsure == nil
}

// releasedAgain says of an early grant that another client released in between what was no longer its own, and that the lock agreed, where no wrong release is certain:
// the newer grant says only since when its session, or its lease, has run, and may have been given before that release; or it was the second release of a grant, and
// the first one had no answer.
func (c *earlyCase) releasedAgain() (reason, bool) {
	victim, newer := c.older[0], c.newer
	if o := c.releasedOver(); o != nil {
		why := o.mayHaveFreed()
		why.refs = append(why.refs, newer.inv)
		return why, true
	}
	if c.byService(c.blame.suspect) || c.n() > 1 || !newer.lock.mutex() || c.an.overlaps.wrong.letsIn(victim, newer) {
		return reason{}, false
	}
	for _, o := range slices.Backward(newer.lock.releasedBefore(newer.okT)) {
		between := o.typ == tOK && o.invT > victim.okT && o.endT <= newer.okT && newer.okT-max(o.endT, newer.invT) <= prompt
		if between && follows(o, victim, newer, &c.an.tokens) && (o.ofEnded() && o.endT > newer.lo || o.secondAfter(victim)) {
			return o.mayHaveFreed(), true
		}
	}
	return reason{}, false
}

// mayHaveFreed makes such a release the cause.
func (o *op) mayHaveFreed() reason {
	return reason{cause: lateRelease, words: o.foreignWords() + ": it may have freed the lock", refs: append(o.evidence(), o.grant.ok)}
}

// releasedOver is such a release of a semaphore's permit that was over, sent after the latest of the others had been granted and before the newer grant; nil for none.
func (c *earlyCase) releasedOver() *op {
	if c.newer.lock.permits == 0 || c.renewed || c.byService(c.blame.suspect) {
		return nil
	}
	if o := releaseBefore(c.older, c.newer).by; o != nil && o.typ == tOK && o.over() {
		return o
	}
	return nil
}
