package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// wrongRelease is a release that freed somebody else's lock.
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
// can have dropped the lock for other reasons: then nothing is said.
func (ix *index) findWrong() map[*grant]*wrongRelease {
	if ix.releases != nil {
		return ix.releases
	}
	ix.releases = map[*grant]*wrongRelease{}
	var pairs []grantPair
	for _, e := range ix.findEarly() {
		if !e.covered && !e.renewed && e.newer.lock.mutex() && len(e.older) == 1 {
			pairs = append(pairs, grantPair{e.older[0], e.newer})
		}
	}
	for _, d := range ix.findDoubles() {
		if len(d.older) == 1 && d.newer.lock.mutex() {
			pairs = append(pairs, grantPair{d.older[0], d.newer})
		}
	}
	regardless := map[*lock][]*grant{} // two at most, of which one is not the victim
	for _, p := range pairs {
		if k := p.newer.lock; len(regardless[k]) < 2 && ix.unaided(p) {
			regardless[k] = append(regardless[k], p.newer)
		}
	}
	for _, p := range pairs {
		// How the victim itself got in does not matter.
		if !slices.ContainsFunc(regardless[p.newer.lock], func(g *grant) bool { return g != p.older }) {
			ix.findWrongBetween(p.older, p.newer)
		}
	}
	return ix.releases
}

// unaided says that no release and no fault can have let the newer grant in: a lock that
// does that keeps nobody out, and proves nothing against a release.
func (ix *index) unaided(p grantPair) bool {
	list := p.newer.lock.released
	n, _ := slices.BinarySearchFunc(list, p.newer.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	if n > 0 && list[n-1].endT > p.older.lo {
		return false
	}
	for _, process := range []string{p.older.process, p.newer.process} {
		harm := ix.harmTo(process)
		i, _ := slices.BinarySearchFunc(harm, min(p.older.lo, p.newer.lo), func(h span, t int64) int { return cmp.Compare(h.to, t) })
		if i < len(harm) && harm[i].from <= p.newer.okT {
			return false
		}
	}
	return true
}

// prompt is how long a client that asks again and again may go on without the lock after a
// release that freed it: more than that, and something else let it in.
const prompt = 500e6

// findWrongBetween looks for the release that took the lock from victim and let next in.
func (ix *index) findWrongBetween(victim, next *grant) {
	if ix.serverFault(victim.lo, next.okT) {
		return
	}
	list := next.lock.released
	n, _ := slices.BinarySearchFunc(list, next.lo, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	// The nearest ones are the likely ones; a bound keeps a hostile history
	// from making this quadratic.
	for i := n - 1; i >= max(0, n-64) && list[i].invT > victim.okT; i-- {
		o := list[i]
		// Who asks for a lock that is free is not kept waiting.
		if next.lo-max(o.endT, next.invT) > prompt {
			return
		}
		if o.typ == tOK && ix.foreign(o, victim, next) {
			ix.releases[next] = &wrongRelease{o.grant, victim, next, o}
			return
		}
	}
}

// foreign says that a release is of a grant which victim's had certainly replaced, and
// that the service did not say that this grant was still in force.
func (ix *index) foreign(o *op, victim, next *grant) bool {
	g := o.grant
	return g != nil && g != victim && g != next && g.process != victim.process && !o.heldOK &&
		o.process == g.process && ix.certainlyOlder(g, victim) && g.okT < victim.okT
}

// serverFault says whether a landed fault on anything but clients was on.
func (ix *index) serverFault(from, to int64) bool {
	for _, f := range ix.faultsOn(from, to) {
		if len(f.nodes) == 0 {
			return true
		}
		for _, n := range f.nodes {
			if p := ix.processes.get(n); p == nil || !p.client {
				return true
			}
		}
	}
	return false
}

// findWrongReleases reports what findWrong found.
func findWrongReleases(ix *index) []Anomaly {
	wrong := ix.findWrong()
	var let []*grant // in by somebody else's release
	for _, e := range ix.findEarly() {
		let = append(let, e.newer)
	}
	for _, d := range ix.findDoubles() {
		let = append(let, d.newer)
	}
	var out []Anomaly
	for _, g := range let {
		w := wrong[g]
		if w == nil {
			continue
		}
		if w.victim.timeless() {
			out = append(out, ix.wrongOfTimeless(w))
			continue
		}
		left := w.victim.aliveUntil(w.next.okT) - w.next.okT
		places := append(w.victim.proof(w.next.okT), w.by.ok, w.next.ok, w.release.inv, w.release.comp,
			w.next.loProof(), ix.orderProof(w.by, w.victim))
		a := Anomaly{
			Name: "wrong-release", Property: Liveness, Key: w.next.lock.name, Time: w.next.okT,
			Grants: []string{w.by.id, w.victim.id, w.next.id}, Events: ix.at(places...),
			Sizes: map[string]int64{"remaining": left, "late": w.release.invT - w.victim.okT},
			Explanation: fmt.Sprintf("%s released at %s the lock that %s had been granted %s before, and the service agreed: %s by %s, while %s's lease certainly had %s left",
				w.by.process, clock(w.release.invT), w.victim.process, dur(w.release.invT-w.victim.okT),
				w.next.got(), clock(w.next.okT), w.victim.process, dur(left)),
		}
		out = append(out, ix.finish(a, w.by.okT, w.by.process, w.victim.process, w.next.process))
	}
	return out
}

// wrongOfTimeless tells of a victim that was promised no lease.
func (ix *index) wrongOfTimeless(w *wrongRelease) Anomaly {
	a := Anomaly{
		Name: "wrong-release", Property: Liveness, Key: w.next.lock.name, Time: w.next.okT,
		Grants: []string{w.by.id, w.victim.id, w.next.id},
		Events: ix.at(w.victim.ok, w.by.ok, w.next.ok, w.release.inv, w.release.comp, w.next.loProof(), ix.orderProof(w.by, w.victim)),
		Sizes:  map[string]int64{"late": w.release.invT - w.victim.okT},
		Explanation: fmt.Sprintf("%s released at %s the lock that %s had been granted %s before, and the service agreed: %s by %s, while %s still held it",
			w.by.process, clock(w.release.invT), w.victim.process, dur(w.release.invT-w.victim.okT), w.next.got(), clock(w.next.okT), w.victim.process),
	}
	return ix.finish(a, w.by.okT, w.by.process, w.victim.process, w.next.process)
}
