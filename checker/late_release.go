package checker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// lateRelease is the cause of a grant that came when a third client's release, which a fault had delayed, may have freed the lock: who
// looks at the owner and deletes the key in two steps frees what another client has been granted in between.
const lateRelease = "late-release"

// delayedRelease finds the release that the suspected fault may have delayed: it was sent before the older grant, no answer to it came before
// that, and its own lease was over by then, so that the older grant was in order. nil for none.
func delayedRelease(e earlyPair, suspect *part) *op {
	if suspect == nil || !suspect.third || !e.newer.lock.mutex() || e.renewed {
		return nil
	}
	o, _ := e.older[0].freedLate(func(*op) []*fault { return []*fault{suspect.fault} })
	if o != nil && suspect.keepsBack(o, e.newer.okT) {
		return nil
	}
	return o
}

// keepsBack says that the fault kept a request back, or its answer, until after t: the request cannot have been carried out late, and before t. A history notes the
// end of a fault only when that is confirmed, a little later.
func (f *fault) keepsBack(o *op, t int64) bool {
	name := baseName(f.name)
	return (name == "hold" || name == "partition") && f.begin <= o.invT && f.end-patience > t
}

// besideGrant finds another client's release of what had ended that was under way when the older grant can have been given: whichever of the two came first,
// no fault need have delayed it. nil for none, if what a server knew explains the newer grant better, or if the lock lets clients in without a release.
func (w *wrongReleases) besideGrant(e earlyPair, suspect *part) *op {
	victim, newer := e.older[0], e.newer
	if e.byService(suspect) || e.n() > 1 || !newer.lock.mutex() || w.letsIn(victim, newer) {
		return nil
	}
	for _, o := range slices.Backward(newer.lock.releasedBefore(victim.okT)) {
		other := o.process != victim.process && o.grant != newer
		if other && o.typ == tOK && o.grant != nil && o.endT > victim.lo && (o.ofEnded() || o.outlasts() && o.endT <= newer.okT) && newer.lo-max(o.endT, newer.invT) <= prompt {
			return o
		}
	}
	return nil
}

// outlasts says that a release was under way for a quarter of the lease at least, and answered when the lease was over that it gives back: it may have been
// carried out after that.
func (o *op) outlasts() bool {
	g := o.grant
	return g.lease > 0 && g.promised <= o.endT && o.endT-o.invT >= g.lease/4
}

// delayed is such a release before a grant, and the fault that may have delayed it; nil for none.
func (l *faultLog) delayed(victim *grant) (*op, *fault) {
	return victim.freedLate(func(o *op) []*fault { return l.byNode[o.process].latest(nil, o.invT, victim.okT) })
}

// freedLate is the last release that may have freed the victim's lock late, and one of the faults on it that may have delayed it.
func (victim *grant) freedLate(faults func(*op) []*fault) (*op, *fault) {
	for _, o := range slices.Backward(victim.lock.releasedBefore(victim.okT)) {
		if !o.mayFree(victim) {
			continue
		}
		for _, f := range faults(o) {
			if f.delays(o, victim.okT) {
				return o, f
			}
		}
	}
	return nil, nil
}

// lateFreed is a release of a grant without a lease that may have freed the lock when another client had it, and what is blamed for its being late.
type lateFreed struct {
	release *op
	why     blamed
	own     bool // it is of the client that then had the lock again
}

// lateReleases are those by which clients may have been let in beside others, by their grants. If another client of the same lock was let in beside one,
// and nothing says by what, that let in these, too.
func (an *analysis) lateReleases() map[*grant]lateFreed {
	found, unsaid := map[*grant]lateFreed{}, map[*lock]bool{}
	for _, d := range an.overlaps.doubles {
		if an.overlaps.wrong.found[d.newer] != nil || an.freeing[d.newer].by != nil || an.holdRules.unrenewed(d) {
			continue
		}
		if l, ok := an.lateFor(d); ok {
			found[d.newer] = l
		} else if o := an.ownBefore(d); o != nil {
			found[d.newer] = lateFreed{release: o, own: true}
		} else {
			unsaid[d.newer.lock] = true
		}
	}
	maps.DeleteFunc(found, func(g *grant, _ lateFreed) bool { return unsaid[g.lock] })
	return found
}

// lateFor finds the release for one of them: a third client's, sent when the older of the two had been given, or kept back until then by a fault. What it
// gives back was over by then, in the second case if the fault had been on for as long as the lease that its client asked for.
func (an *analysis) lateFor(d doublePair) (lateFreed, bool) {
	victim := d.older[0]
	if !d.newer.lock.mutex() {
		return lateFreed{}, false
	}
	if o := d.release; o != nil {
		return lateFreed{release: o, why: an.faults.blamedFor(o)}, !o.again()
	}
	if an.opt.TTL <= 0 {
		return lateFreed{}, false
	}
	for _, o := range slices.Backward(victim.lock.releasedBefore(victim.okT)) {
		if o.grant == nil || !o.grant.hasNoLease() || o.process == victim.process || o.process == d.newer.process || o.grant.okT > victim.okT || !o.mayComeAfter(victim.okT) {
			continue
		}
		for _, f := range an.faults.byNode[o.process].latest(nil, o.invT, victim.okT) {
			if f.delays(o, victim.okT) && satAdd(f.begin, int64(spent*float64(an.opt.TTL))) <= victim.okT {
				return lateFreed{release: o, why: blameThird(f)}, true
			}
		}
	}
	return lateFreed{}, false
}

// blamedFor is the last fault on a third client while it had what it released too late.
func (l *faultLog) blamedFor(o *op) blamed {
	for _, f := range l.byNode[o.process].latest(nil, o.grant.okT, o.invT) {
		if f.confirmed {
			return blameThird(f)
		}
	}
	return blamed{}
}

func blameThird(f *fault) blamed {
	p := part{fault: f, side: verdict.OnClient, third: true}
	return blamed{&p, []part{p}}
}

// mayFree says that a release, of a grant that was over when the victim's was given, may have been carried out after that.
func (o *op) mayFree(victim *grant) bool {
	return o.mayComeAfter(victim.okT) && o.grant != nil && !o.grant.hasNoLease() && !o.grant.mayLast(victim.okT)
}

// mayComeAfter says that a release may have been carried out after t: it was not answered before.
func (o *op) mayComeAfter(t int64) bool { return o.typ == tInfo || o.typ == tOK && o.endT > t }

// delays says that the fault may have kept a request back from when it was under way until t.
func (f *fault) delays(o *op, t int64) bool {
	name := baseName(f.name)
	return name != "kill" && name != "clock" && f.hits(o.process) && f.overlaps(interval{o.invT, o.endT}) && f.felt() >= t
}

// lateWords say of a release that it may have freed the lock.
func (o *op) lateWords() string {
	answer := "was not answered"
	if o.typ == tOK {
		answer = "was answered at " + format.Instant(o.endT)
	}
	return fmt.Sprintf("; %s's release, which was sent at %s and %s, may have been carried out in between", o.process, format.Instant(o.invT), answer)
}

// delayedRelease says of an early grant that the suspected fault may have delayed a release until then.
func (c *earlyCase) delayedRelease() (reason, bool) {
	o := delayedRelease(c.earlyPair, c.blame.suspect)
	if o == nil {
		return reason{}, false
	}
	return reason{cause: lateRelease, words: o.lateWords(), refs: []int32{o.inv, o.grant.ok}}, true
}

// besideRelease says of an early grant that another client's release of what had ended was under way when the older grant was given.
func (c *earlyCase) besideRelease() (reason, bool) {
	o := c.an.overlaps.wrong.besideGrant(c.earlyPair, c.blame.suspect)
	if o == nil {
		return reason{}, false
	}
	return reason{cause: lateRelease, words: o.lateWords(), refs: append(o.evidence(), o.grant.ok)}, true
}
