package checker

import (
	"cmp"
	"slices"
)

// doubted is when the lease need not have been in force, by renewals, and entries of the hold, of which nobody knows for how long they are: one without an answer, or
// one whose answer names no lease. If the record shows renewals for less than the grant was promised, one of these may be for less, too. It is never if the record shows no such
// renewal. Of those without an answer the first one tells all: what may have been carried out for less after a later one, may have been after it. Of the others a bound keeps
// a hostile history from making this quadratic.
func (g *grant) doubted() []interval {
	out := g.doubtedByHold()
	byStart := func(a, b interval) int { return cmp.Compare(a.from, b.from) }
	least := g.lock.shortest
	if least <= 0 || g.longestLease() <= least {
		slices.SortFunc(out, byStart)
		return out
	}
	if hold := g.ofHold(); hold.unsure != nil && len(*hold.unsure) > 0 {
		out = g.doubtedBy(interval{(*hold.unsure)[0].invT, never})
	}
	asked := 0
	for _, r := range g.renewals() {
		if r.lease <= 0 && r.inv >= 0 && asked < maxBetween {
			asked++
			out = append(out, g.doubtedBy(interval{r.invT, r.okT})...)
		}
	}
	slices.SortFunc(out, byStart)
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
	for _, r := range list[g.renewed.before(asked.from):] {
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

// doubtedAt is the end of the lease at t or later, at the earliest, if a renewal was for less than is known; never if none need have been.
func (g *grant) doubtedAt(t int64) int64 {
	if g.doubts == nil {
		return never
	}
	list := *g.doubts
	n, _ := slices.BinarySearchFunc(list, t, func(s interval, t int64) int { return cmp.Or(cmp.Compare(s.from, t), -1) }) // they began by t
	for _, s := range slices.Backward(list[max(0, n-maxBetween):n]) {
		if s.to > t {
			return t
		}
	}
	if n < len(list) {
		return list[n].from
	}
	return never
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
