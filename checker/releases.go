package checker

import (
	"cmp"
	"slices"
)

// wrongRelease is a release that freed another client's lock.
type wrongRelease struct {
	by      *grant // whose lock it no longer was
	victim  *grant
	next    *grant // came in through the gap
	release *op
	// set is the fault that set a clock forward by which the service ended by's lease, and let the victim in; nil if the
	// lease was over.
	set *fault
}

// wrongReleases is the releases that freed another client's lock, by the grants that came of it.
type wrongReleases struct {
	found map[*grant]*wrongRelease
	// later is the last one before that was found of the lock, by a grant that came early after it and after a third client's
	// release: of that one nothing says that it was wrong, but of this lock it may have been.
	later map[*grant]*wrongRelease
	// ungated are two grants of a lock at most that came without a release.
	ungated map[*lock][]*grant
}

// letsIn says that the lock was seen to let others in than these without a release.
func (r *wrongReleases) letsIn(but ...*grant) bool {
	return slices.ContainsFunc(r.ungated[but[0].lock], func(g *grant) bool { return !slices.Contains(but, g) })
}

// began is the wrong release that a grant came of, at once or by others; nil for none. What made it wrong
// is what the grant came of, and not what else was on.
func (r *wrongReleases) began(newer *grant) *wrongRelease {
	if w := r.found[newer]; w != nil {
		return w
	}
	return r.later[newer]
}

// findWrong looks, for every grant that came while another's lease was certainly
// alive, or while another client held the lock without excuse, for the release that let
// it in, unless the lock lets clients in without one: sent by a client whose grant is
// certainly older than the victim's, after the victim's ok, answered with ok, and
// followed by the next grant. A service that was itself under a fault meanwhile
// can have dropped the lock for other reasons: then no release is accused.
func findWrong(early []earlyPair, doubles []doublePair, t *tokens, faults *faultLog) wrongReleases {
	out := wrongReleases{map[*grant]*wrongRelease{}, map[*grant]*wrongRelease{}, map[*lock][]*grant{}}
	var pairs []grantPair
	for _, e := range early {
		if !e.covered && !e.renewed && e.newer.lock.mutex() && len(e.older) == 1 {
			pairs = append(pairs, grantPair{e.older[0], e.newer})
		}
	}
	for _, d := range doubles {
		if len(d.older) == 1 && d.newer.lock.mutex() {
			pairs = append(pairs, grantPair{d.older[0], d.newer})
		}
	}
	ungated := out.ungated
	search := releaseSearch{tokens: t, faults: faults, bothIn: map[grantPair]bool{}}
	for _, p := range pairs {
		search.bothIn[p] = true
		if k := p.newer.lock; len(ungated[k]) < 2 && grantedWithoutRelease(p, faults) {
			ungated[k] = append(ungated[k], p.newer)
		}
	}
	last, known := map[*lock]*wrongRelease{}, map[*op]*wrongRelease{}
	for _, p := range pairs {
		k := p.newer.lock
		// How the victim itself got in does not matter.
		if out.letsIn(p.older) {
			continue
		}
		if w := search.between(p.older, p.newer); w != nil && known[w.release] == nil {
			out.found[p.newer], last[k], known[w.release] = w, w, w
		} else if w != nil { // whom it let in has given the lock back since
			out.later[p.newer] = known[w.release]
		} else if began := last[k]; began != nil && search.perhapsBetween(p.older, p.newer, began.set) {
			out.later[p.newer] = began
		}
	}
	return out
}

// grantedWithoutRelease says that no release and no fault can have let the newer grant in: a lock that
// does that keeps nobody out, and is no evidence against a release.
func grantedWithoutRelease(p grantPair, faults *faultLog) bool {
	if slices.ContainsFunc(p.newer.lock.releasedBefore(p.newer.okT), func(o *op) bool { return o.endT > p.older.lo }) {
		return false
	}
	from := min(p.older.lo, p.newer.lo)
	return min(faults.ownHarmFrom(p.older, from), faults.ownHarmFrom(p.newer, from), harmIn(faults.drops, from)) > p.newer.okT
}

// prompt is how long a client that asks again and again may go on without the lock after a
// release that freed it: more than that, and something else let it in.
const prompt = 500e6

// releaseSearch looks for releases that freed another client's lock.
type releaseSearch struct {
	tokens *tokens
	faults *faultLog
	bothIn map[grantPair]bool // of two grants of which the newer one came while the older one was in force
}

// between looks for the release, of a grant that was no longer in force, that took the lock from victim and let next in.
func (s *releaseSearch) between(victim, next *grant) *wrongRelease {
	list := next.lock.released
	n, _ := slices.BinarySearchFunc(list, next.lo, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	// The nearest ones are the likely ones; a bound keeps a hostile history
	// from making this quadratic.
	for i := n - 1; i >= max(0, n-64) && list[i].invT > victim.okT; i-- {
		o := list[i]
		// Who asks for a lock that is free is not kept waiting.
		if next.lo-max(o.endT, next.invT) > prompt {
			return nil
		}
		if o.typ != tOK || !follows(o, victim, next, s.tokens) {
			continue
		}
		w := &wrongRelease{by: o.grant, victim: victim, next: next, release: o}
		if s.lost(w) && !s.faults.mayDrop(victim, next.okT, w.set) {
			return w
		}
	}
	return nil
}

// perhapsBetween says that a third client's release may have been carried out between two grants, and that no fault of the
// service but one can have let the newer one in.
func (s *releaseSearch) perhapsBetween(victim, next *grant, but *fault) bool {
	third := func(o *op) bool {
		return o.typ == tOK && o.grant != nil && o.grant != victim && o.grant != next && o.endT > victim.lo
	}
	return slices.ContainsFunc(next.lock.releasedBefore(next.okT), third) && !s.faults.mayDrop(victim, next.okT, but)
}

// releasedBefore lists the last releases that were sent before a time, in their order. A bound keeps a hostile history from
// making this quadratic.
func (k *lock) releasedBefore(t int64) []*op {
	n, _ := slices.BinarySearchFunc(k.released, t, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	return k.released[max(0, n-maxBetween):n]
}

// lost says that the grant of the release was no longer in force when that was sent, and because of which fault.
func (s *releaseSearch) lost(w *wrongRelease) bool {
	if s.bothIn[grantPair{w.by, w.victim}] {
		// A client that still held the lock when the victim got in, too, gave back what was its own.
		w.set = s.faults.setForward(w.by.lo, w.victim.okT)
		return w.set != nil
	}
	return w.release.untrue || w.release.ofEnded()
}

// follows says that a release is of another client's grant, which victim's had certainly replaced, and that the service
// did not say that this grant was still in force.
func follows(o *op, victim, next *grant, t *tokens) bool {
	g := o.grant
	return g != nil && g != victim && g != next && g.process != victim.process && !o.heldOK &&
		o.process == g.process && t.certainlyOlder(g, victim) && g.okT < victim.okT
}

// foreign says that a release follows a victim's grant, and that its own need not have been in force, or that the
// service falsely said that it was.
func foreign(o *op, victim, next *grant, t *tokens) bool {
	return follows(o, victim, next, t) && (o.untrue || o.ofEnded())
}

// ofEnded says that a release was sent when its grant was no longer in force: its lease was over, or its client had
// released it before, and was answered.
func (o *op) ofEnded() bool { return o.again() || !o.grant.mayLast(o.invT) }

// maybeDone says that a release was carried out, may have been, or found nothing to give back: it was not refused for another reason.
func (o *op) maybeDone() bool { return o.typ != tFail || o.notHeld }

// again says that the client had released the grant before, and was answered.
func (o *op) again() bool {
	first := o.grant.release
	return first.typ == tOK && first.endT < o.invT
}
