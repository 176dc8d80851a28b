package checker

import "slices"

// shortening is when a lease need not have been in force, by a renewal for less than what was left: its place among the grant's.
type shortening struct {
	renewal int
	interval
}

// shortened is when the lease need not have been in force, although it had been promised until later: a client may renew it for less than what was left, and that
// lasts until the next renewal. There is no such time if the lock said later that the lease had been in force all along.
func (g *grant) shortened() []shortening {
	var out []shortening
	list := g.renewals()
	furthest, answered := satAdd(g.since, g.lease), g.okT
	for i, r := range list {
		if r.lease > 0 && r.inv >= 0 && r.invT >= answered && r.until < furthest && !g.inForceAfter(max(r.until, r.okT), list[i+1:]) {
			s := interval{max(r.until, r.invT), never}
			if i+1 < len(list) {
				s.to = list[i+1].okT
			}
			if s.from < s.to {
				out = append(out, shortening{i, s})
			}
		}
		if r.until > furthest {
			furthest, answered = r.until, r.okT
		}
	}
	return out
}

// inForceAfter says that a renewal, or the release, was answered as if the lease had been in force until after t.
func (g *grant) inForceAfter(t int64, later []renewal) bool {
	held := func(r renewal) bool { return r.held && r.heldUntil > t }
	return g.releaseHeld() && g.release.invT > t || slices.ContainsFunc(later, held)
}

// without is the intervals but for what lies in s.
func without(list []interval, s interval) []interval {
	var out []interval
	for _, i := range list {
		if i.to <= s.from || i.from >= s.to {
			out = append(out, i)
			continue
		}
		for _, part := range []interval{{i.from, s.from}, {s.to, i.to}} {
			if part.from < part.to {
				out = append(out, part)
			}
		}
	}
	return out
}

// shortenedAt is when the lease ended by its renewals until t, if the last of them was for less than what was left; never if it was not.
func (g *grant) shortenedAt(t int64) int64 {
	n := g.renewed.before(t)
	if n == 0 || g.renewed.list[n-1].until >= max(satAdd(g.since, g.lease), g.renewed.reach[n-1]) {
		return never
	}
	if _, is := slices.BinarySearchFunc(g.renewed.shorter, n-1, func(s shortening, i int) int { return s.renewal - i }); is {
		return max(t, g.renewed.list[n-1].until)
	}
	return never
}
