package checker

import (
	"cmp"
	"slices"
)

// mayBeForLess are the renewals, and the entries of the hold, of which nobody knows for how long they are, each from when it was sent until it can have
// been carried out last: one without an answer, or one whose answer names no lease. If the record shows renewals for less than the grant was promised, one of these
// may be for less, too. There are none if it shows no such renewal. Of very many, the first ones tell the most.
func (g *grant) mayBeForLess() []interval {
	least := g.lock.shortest
	if least <= 0 || g.longestLease() <= least {
		return nil
	}
	var out []interval
	if hold := g.ofHold(); hold.unsure != nil {
		for _, o := range (*hold.unsure)[:min(len(*hold.unsure), maxBetween)] {
			out = append(out, interval{o.invT, never})
		}
	}
	for _, r := range g.renewals()[:min(len(g.renewals()), maxBetween)] {
		if r.lease <= 0 && r.inv >= 0 {
			out = append(out, interval{r.invT, r.okT})
		}
	}
	return out
}

// noteShortest notes the shortest lease for which a grant was renewed, or a hold entered again. What an acquire alone asks for tells nothing of renewals.
func (k *lock) noteShortest() {
	note := func(lease int64) {
		if lease > 0 && (k.shortest == 0 || lease < k.shortest) {
			k.shortest = lease
		}
	}
	for _, g := range k.grants {
		if g.mode == nested {
			note(g.lease)
		}
		for _, r := range g.renewals() {
			note(r.lease)
		}
	}
}

// longestLease is the longest lease that the grant or a renewal promised.
func (g *grant) longestLease() int64 {
	longest := g.lease
	for _, r := range g.renewals() {
		longest = max(longest, r.lease)
	}
	return longest
}

// doubtedBy is when the lease need not have been in force, if a request that was sent at asked.from, and carried out by asked.to, was for the shortest renewal of the
// record. The lease lasts for at least that long after each of the renewals, until then and later. What the lock said later of the time before it counts, too.
func (g *grant) doubtedBy(asked interval) []interval {
	least, list := g.lock.shortest, g.renewals()
	shown := max(satAdd(asked.from, least), g.lastWords()[0])
	var out []interval
	for _, r := range list {
		if r.lease <= 0 || r.sent() < asked.from {
			continue
		}
		if r.okT > shown {
			out = append(out, interval{shown, r.okT})
		}
		if r.sent() >= asked.to {
			return out
		}
		shown = max(shown, r.okT, satAdd(r.sent(), min(r.lease, least)))
	}
	return append(out, interval{shown, never})
}

// doubtedAt is the end of the lease at t or later, at the earliest, if a renewal that was sent before t was for less than is known; never if there is none.
func (g *grant) doubtedAt(t int64) int64 {
	until := never
	for _, asked := range g.mayBeForLess() {
		if asked.from >= t {
			continue
		}
		for _, s := range g.doubtedBy(asked) {
			if s.to > t {
				until = min(until, max(s.from, t))
				break
			}
		}
	}
	return until
}

// without gives the intervals, which are in order and apart, less the times that are cut.
func without(list, cut []interval) []interval {
	slices.SortFunc(cut, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var out []interval
	n := 0
	for _, i := range list {
		for ; n < len(cut) && cut[n].from < i.to; n++ {
			if i.from < cut[n].from {
				out = append(out, interval{i.from, cut[n].from})
			}
			if i.from = max(i.from, cut[n].to); cut[n].to > i.to {
				break // it may reach into the next one
			}
		}
		if i.from < i.to {
			out = append(out, i)
		}
	}
	return out
}
