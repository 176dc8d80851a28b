package checker

import (
	"cmp"
	"slices"
)

// widen takes of the times of each lock only what no shift of the clocks can change: what
// was asked for is earlier, and what was answered later, by half of the skew. Whatever
// order of what happened inside the service explains some shift of the history explains
// the widened one, too; so what cannot be explained there cannot be explained at all.
// Locks whose times are all of one clock stay as they are. It returns the locks whose tokens
// some shift contradicts.
func (an *analysis) widen() map[*lock]bool {
	doubted := map[*lock]bool{}
	half := (an.clocks.skew + 1) / 2
	for _, k := range an.locks {
		if an.clocks.tokensInDoubt(k) {
			doubted[k] = true
		}
		an.widenKills(k)
		if an.clocks.oneFor(k) {
			continue
		}
		k.margin = 2 * half
		for _, list := range [][]*op{k.acquires, k.released, k.ops} {
			for _, o := range list {
				o.widen(half)
			}
		}
		for _, list := range [][]*statement{k.claims, k.denials} {
			for _, s := range list {
				s.invT, s.endT = s.invT-half, s.endT+half
			}
		}
		for _, g := range k.grants {
			g.widen(half)
		}
	}
	return doubted
}

// margin is how much earlier the history may have ended for a client, by its own clock,
// than the last event says, where nothing is to be taken from less.
func (an *analysis) margin() int64 {
	if an.opt.widened {
		return an.clocks.skew
	}
	return 0
}

func (o *op) widen(half int64) {
	o.invT -= half
	if o.endT != never {
		o.endT += half
	}
}

func (g *grant) widen(half int64) {
	g.invT, g.lo, g.since, g.okT = g.invT-half, g.lo-half, g.since-half, g.okT+half
	if g.lostT != never {
		g.lostT -= half
	}
	if g.believedEnd != never {
		g.believedEnd -= half
	}
	if g.askedT != never {
		g.askedT -= half
	}
	if r := g.release; r != nil && r.inv < 0 { // in no list
		r.widen(half)
	}
	old := g.renewals()
	g.renewed = nil
	for _, r := range old {
		r.invT, r.okT, r.heldUntil = r.invT-half, r.okT+half, r.heldUntil-half
		if r.until > 0 {
			r.until = max(1, r.until-half) // 0 says that it has no lease
		}
		g.addRenewal(r)
	}
}

// widenKills ends what a client believes as early as a kill, by the clock of who killed it,
// may have been.
func (an *analysis) widenKills(k *lock) {
	for _, g := range k.grants {
		list := an.faults.kills[g.process]
		i, _ := slices.BinarySearchFunc(list, g.okT, func(k kill, t int64) int { return cmp.Compare(k.reach, t) })
		if i < len(list) {
			g.believedEnd = min(g.believedEnd, list[i].from)
		}
	}
}

// widenFaults lets faults be on for as long as they may have been, by the clients' clocks.
func widenFaults(list []fault, skew int64) {
	for i := range list {
		list[i].begin -= skew
		if list[i].ended {
			list[i].end = satAdd(list[i].end, 2*skew)
		}
	}
}
