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
// alive, for the release that let it in: sent by a client whose grant is
// certainly older than the victim's, after the victim's ok, answered with ok, and
// followed by the next grant. A service that was itself under a fault meanwhile
// can have dropped the lock for other reasons: then nothing is said.
func (ix *index) findWrong() map[*grant]*wrongRelease {
	if ix.releases != nil {
		return ix.releases
	}
	ix.releases = map[*grant]*wrongRelease{}
	for _, e := range ix.findEarly() {
		if e.window || e.renewed || e.crowd || len(e.older) != 1 {
			continue
		}
		victim, next := e.older[0], e.newer
		if ix.serverFault(victim.lo, next.okT) {
			continue
		}
		list := ix.byKey[next.lock.name].released
		n, _ := slices.BinarySearchFunc(list, next.lo, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
		// The nearest ones are the likely ones; a bound keeps a hostile history
		// from making this quadratic.
		for i := n - 1; i >= max(0, n-64) && list[i].invT > victim.okT; i-- {
			o := list[i]
			g := o.grant
			if g == nil || g == victim || g == next || g.process == victim.process || o.typ != tOK || o.heldOK ||
				o.process != g.process || !ix.certainlyOlder(g, victim) || g.okT >= victim.okT {
				continue
			}
			ix.releases[next] = &wrongRelease{g, victim, next, o}
			break
		}
	}
	return ix.releases
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
	var out []Anomaly
	for _, e := range ix.findEarly() {
		w := wrong[e.newer]
		if w == nil {
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
