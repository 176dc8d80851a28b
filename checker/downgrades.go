package checker

import (
	"cmp"
	"slices"
)

// downgrade ends the exclusive grant of which its client asks to make a shared one: from the request on it may be
// shared. It is a release in all but that: nobody else can have the lock exclusively because of it, which the shared
// grant shows.
func (r *reader) downgrade(i int32, t int64, p *proc, k *lock) {
	g := p.latest.get(k.name)
	if g == nil || g.mode != exclusive || g.release != nil {
		return
	}
	o := r.ops.next()
	*o = op{f: fRelease, process: p.Name, lock: k, grant: g, inv: i, comp: -1, invT: t, endT: never, downgrades: true}
	g.release = o
	r.endBelief(g, t)
}

// downgraded notes what became of it. If it failed, its client goes on with what it had, of which nothing more is
// certain here: no promise is counted beyond the request.
func (p *proc) downgraded(acquire *op) {
	g := p.latest.get(acquire.lock.name)
	if g == nil || g.release == nil || g.release.inv != acquire.inv {
		return
	}
	g.release.comp, g.release.endT = acquire.comp, acquire.endT
	if acquire.typ != tInfo && !acquire.failed {
		g.release.typ = acquire.typ
	}
}

// notSharedUntil is until when its client can have had the lock that asked to share it, if it was not told that it does: until its release
// was answered, or it was granted the lock anew, or for good. A bound keeps a hostile history from making this quadratic.
func (g *grant) notSharedUntil() (until int64, ok bool) {
	if r := g.release; r == nil || !r.downgrades || r.typ == tOK {
		return 0, false
	}
	if g.anew != nil {
		return g.anew.okT, true
	}
	list := g.lock.released // by invoke
	i, _ := slices.BinarySearchFunc(list, g.release.invT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for _, o := range list[i:min(len(list), i+maxBetween)] {
		if o.grant == g && o.typ == tOK {
			return o.endT, true
		}
	}
	return never, true
}
