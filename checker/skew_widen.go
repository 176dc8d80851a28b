package checker

import (
	"cmp"
	"slices"
)

// widen takes of the times of each lock only what no shift of the clocks can change: what
// was asked for is earlier, and what was answered later, by half of the skew. Whatever
// order of what happened inside the service explains some shift of the history explains
// the widened one, too; so what cannot be explained there cannot be explained at all.
// Locks whose times are all of one clock stay as they are. Attempts (contested grants) are
// counted that are ones under every shift. It returns the locks whose tokens some shift
// contradicts.
func (an *analysis) widen() map[*lock]bool {
	doubted := map[*lock]bool{}
	half := (an.clocks.skew + 1) / 2
	for _, k := range an.locks {
		if an.clocks.nearTokens(k) {
			doubted[k] = true
		}
		an.widenKills(k)
		if an.clocks.together(k) {
			if an.kills() {
				k.contestedWithin(0, an.killed)
			}
			continue
		}
		k.contestedWithin(2*half, an.killed)
		k.margin = 2 * half
		for _, list := range [][]*op{k.acquires, k.released, k.ops} {
			for _, o := range list {
				o.widen(half)
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

// killed says whether a process ever was: what it waited for and held until then, only
// another clock than its own tells.
func (an *analysis) killed(process string) bool {
	return len(an.faults.kills[process]) > 0
}

// contestedWithin counts a grant as contested only if the times that say so are apart by
// more than the margin, and of clients that are not left out.
func (k *lock) contestedWithin(margin int64, without func(process string) bool) {
	var asking, holding, alone stretches
	for _, o := range k.allAcquires() {
		if without(o.process) {
			continue
		}
		asking.add(o.invT+margin, o.endT-margin)
	}
	for _, g := range k.grants {
		if without(g.process) {
			continue
		}
		from, to := g.okT+margin, g.believedEnd-margin
		holding.add(from, to)
		if g.mode != shared {
			alone.add(from, to)
		}
	}
	for _, list := range []*stretches{&asking, &holding, &alone} {
		slices.Sort(list.from)
		slices.Sort(list.to)
	}
	for _, g := range k.grants {
		if !g.contested {
			continue
		}
		held := int64(0)
		if g.inv >= 0 {
			held = holding.at(g.invT)
		}
		switch {
		case g.mode == shared:
			g.contested = g.inv >= 0 && alone.at(g.invT) > 0
		case k.permits > 0:
			g.contested = held >= k.permits || asking.at(g.okT)+holding.at(g.okT) >= k.permits
		default:
			g.contested = held > 0 || asking.at(g.okT) > 0
		}
	}
}

// stretches are open stretches of time, by their ends.
type stretches struct{ from, to []int64 }

func (s *stretches) add(from, to int64) {
	if from < to {
		s.from, s.to = append(s.from, from), append(s.to, to)
	}
}

// at is how many of them an instant lies within.
func (s *stretches) at(t int64) int64 {
	begun, _ := slices.BinarySearch(s.from, t)
	over, _ := slices.BinarySearch(s.to, t+1)
	return int64(begun - over)
}
