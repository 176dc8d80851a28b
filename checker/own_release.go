package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// ownRelease is the cause of a grant that came early when the older grant's client had released its grant before, and nobody knows what came of that: it may
// have been carried out late, or made again, and both grants may carry one owner's name.
const ownRelease = "own-release"

// freedByOwn finds that release: no answer to it came before its client was granted the lock again, and no longer ago than a lease. nil for none, if what a
// server knew explains the newer grant better, or if the lock lets clients in without a release.
func (w *wrongReleases) freedByOwn(e earlyPair, suspect *part) *op {
	victim, newer := e.older[0], e.newer
	if e.byService(suspect) || !newer.lock.mutex() || w.letsIn(victim, newer) {
		return nil
	}
	for _, o := range slices.Backward(newer.lock.releasedBefore(victim.okT)) {
		if o.process == victim.process && o.typ == tInfo && o.comp >= 0 && o.grant != nil && newer.after(victim)-o.endT <= victim.lease {
			return o
		}
	}
	return nil
}

// after is when a grant can have been given that came after another one, at the earliest. Of a client that had asked before that other one, nothing else
// says it than its answer, which comes a moment later at most.
func (g *grant) after(older *grant) int64 {
	if g.lo >= older.lo {
		return g.lo
	}
	return max(older.lo, g.okT-inFlight)
}

// ownBefore finds such a release before the older of two grants without a lease: it may have been carried out when the newer one can have been
// given. nil for none.
func (an *analysis) ownBefore(d doublePair) *op {
	victim, newer := d.older[0], d.newer
	if d.release != nil || d.n() > 1 || !newer.lock.mutex() || an.overlaps.wrong.letsIn(victim, newer) {
		return nil
	}
	for _, o := range slices.Backward(newer.lock.releasedBefore(victim.okT)) {
		if o.process == victim.process && o.typ == tInfo && o.comp >= 0 && o.grant != nil && an.faults.carriedOutBy(o) >= newer.after(victim) {
			return o
		}
	}
	return nil
}

// cutShort are the older grants of early ones that a habit of the lock explains: it gives leases away after a share of them also where no such release can have
// freed it. Of several clients that were let in while one lease had time left, the first one shows when it was given away.
func (o *overlaps) cutShort() map[*grant]bool {
	var first []earlyPair
	var list []verdict.Early
	seen := map[*grant]bool{}
	for _, e := range o.early {
		if victim := e.older[0]; !seen[victim] {
			seen[victim] = true
			first, list = append(first, e), append(list, meeting{e.older, e.newer, e.from}.early())
		}
	}
	own := func(i int) bool { return o.wrong.freedByOwn(first[i], nil) != nil }
	habitual := verdict.HabitOf(list, func(i int) bool { return !own(i) })
	out := map[*grant]bool{}
	for i, e := range first {
		if habitual(i) && own(i) {
			out[e.older[0]] = true
		}
	}
	return out
}

// ownWords say of a release that it may have ended its client's next grant.
func (o *op) ownWords() string {
	return fmt.Sprintf("; %s's release of its grant before, which was sent at %s and was not answered, may have been carried out in between, or made again", o.process, format.Instant(o.invT))
}

// ownRelease says so of an early grant.
func (c *earlyCase) ownRelease() (reason, bool) {
	o := c.an.overlaps.wrong.freedByOwn(c.earlyPair, c.blame.suspect)
	if o == nil || c.an.cutShort[c.older[0]] {
		return reason{}, false
	}
	return reason{cause: ownRelease, words: o.ownWords(), refs: []int32{o.inv, o.comp, o.grant.ok}}, true
}
