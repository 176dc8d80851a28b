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
}

// findWrong looks, for every grant that came while another's lease was certainly
// alive, or while another client held the lock without excuse, for the release that let
// it in, unless the lock lets clients in without one: sent by a client whose grant is
// certainly older than the victim's, after the victim's ok, answered with ok, and
// followed by the next grant. A service that was itself under a fault meanwhile
// can have dropped the lock for other reasons: then no release is accused.
func findWrong(early []earlyPair, doubles []doublePair, t *tokens, faults *faultLog) map[*grant]*wrongRelease {
	out := map[*grant]*wrongRelease{}
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
	ungated := map[*lock][]*grant{} // two at most, of which one is not the victim
	bothIn := map[grantPair]bool{}
	for _, p := range pairs {
		bothIn[p] = true
		if k := p.newer.lock; len(ungated[k]) < 2 && grantedWithoutRelease(p, faults) {
			ungated[k] = append(ungated[k], p.newer)
		}
	}
	for _, p := range pairs {
		// How the victim itself got in does not matter.
		if !slices.ContainsFunc(ungated[p.newer.lock], func(g *grant) bool { return g != p.older }) {
			// A client that still held the lock when the victim got in, too, gave back what was its own.
			if w := wrongBetween(p.older, p.newer, t, faults); w != nil && !bothIn[grantPair{w.by, p.older}] {
				out[p.newer] = w
			}
		}
	}
	return out
}

// grantedWithoutRelease says that no release and no fault can have let the newer grant in: a lock that
// does that keeps nobody out, and is no evidence against a release.
func grantedWithoutRelease(p grantPair, faults *faultLog) bool {
	list := p.newer.lock.released
	n, _ := slices.BinarySearchFunc(list, p.newer.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	if n > 0 && list[n-1].endT > p.older.lo {
		return false
	}
	for _, process := range []string{p.older.process, p.newer.process} {
		if faults.harmFrom(process, min(p.older.lo, p.newer.lo)) <= p.newer.okT {
			return false
		}
	}
	return true
}

// prompt is how long a client that asks again and again may go on without the lock after a
// release that freed it: more than that, and something else let it in.
const prompt = 500e6

// wrongBetween looks for the release that took the lock from victim and let next in.
func wrongBetween(victim, next *grant, t *tokens, faults *faultLog) *wrongRelease {
	if faults.onService(victim.lo, next.okT) {
		return nil
	}
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
		if o.typ == tOK && foreign(o, victim, next, t) {
			return &wrongRelease{o.grant, victim, next, o}
		}
	}
	return nil
}

// foreign says that a release is of a grant which victim's had certainly replaced, that the service
// did not say that this grant was still in force, or said so falsely, and that it need not have been.
func foreign(o *op, victim, next *grant, t *tokens) bool {
	g := o.grant
	return g != nil && g != victim && g != next && g.process != victim.process && !o.heldOK &&
		o.process == g.process && t.certainlyOlder(g, victim) && g.okT < victim.okT && (o.untrue || !g.mayLast(o.invT))
}
