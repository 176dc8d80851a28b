package checker

import "slices"

// shortening is when a lease need not have been in force, by a renewal for less than what was left: its place among the grant's.
type shortening struct {
	renewal int
	interval
}

// shortened is when the lease need not have been in force, although it had been promised until later: a client may renew it for less than what was left, and that
// lasts until the next renewal. Of two renewals that were under way at once, either may have been carried out last. There is no such time if the lock said later that the
// lease had been in force all along.
func (g *grant) shortened() []shortening {
	var out []shortening
	list := g.renewals()
	word := g.lastWords()
	for i, r := range list {
		if r.lease > 0 && r.inv >= 0 && g.mayShorten(i) && word[i+1] <= max(r.until, r.okT) {
			s := interval{max(r.until, r.invT), never}
			for _, next := range list[i+1 : min(len(list), i+1+maxBetween)] {
				if next.sent() >= r.okT {
					s.to = next.okT
					break
				}
			}
			if s.from < s.to {
				out = append(out, shortening{i, s})
			}
		}
	}
	return out
}

// mayShorten says that the i-th renewal may have been carried out when the lease had been promised for longer than the renewal asks for: by what was
// answered before it was sent, or by another renewal that was under way then.
func (g *grant) mayShorten(i int) bool {
	list, r := g.renewals(), g.renewals()[i]
	n := g.renewed.before(r.invT)
	if r.until < satAdd(g.since, g.lease) || n > 0 && r.until < g.renewed.reach[n-1] {
		return true
	}
	beside := func(q renewal) bool { // one after q, whose lease begins no sooner than q was sent
		return q.lease > 0 && q.sent() < r.okT && satAdd(max(r.sent(), q.sent()), r.lease) < q.until
	}
	return slices.ContainsFunc(list[max(min(n, i), i-maxBetween):i], beside) || slices.ContainsFunc(list[i+1:min(len(list), i+1+maxBetween)], beside)
}

// sent is when it was sent, at the earliest: of several that are under way at once, an answer may have been taken for another one's.
func (r *renewal) sent() int64 {
	if r.lease > 0 {
		return max(r.invT, r.until-r.lease)
	}
	return r.invT
}

// lastWords are, of the renewals from each one on, and of the release, until when the latest of those says that the lease had been in force.
func (g *grant) lastWords() []int64 {
	list := g.renewals()
	out := make([]int64, len(list)+1)
	if g.releaseHeld() {
		out[len(list)] = g.release.invT
	}
	for i, r := range slices.Backward(list) {
		out[i] = out[i+1]
		if r.held {
			out[i] = max(out[i], r.heldUntil)
		}
	}
	return out
}

// shortenedAt is when the lease ended, or can have ended, by its renewals until t, if the last of them was for less than what was left, or one may have been; never if not.
func (g *grant) shortenedAt(t int64) int64 {
	return min(g.doubtedAt(t), g.shortenedByAnswered(t))
}

func (g *grant) shortenedByAnswered(t int64) int64 {
	n := g.renewed.before(t)
	if n == 0 || g.renewed.list[n-1].until >= max(satAdd(g.since, g.lease), g.renewed.reach[n-1]) {
		return never
	}
	if _, is := slices.BinarySearchFunc(g.renewed.shorter, n-1, func(s shortening, i int) int { return s.renewal - i }); is {
		return max(t, g.renewed.list[n-1].until)
	}
	return never
}

// shortenedBefore are the events of the renewal for less than what was left by which the lease had ended at t, and without which it would not have; none if
// there is none.
func (g *grant) shortenedBefore(t int64) []int32 {
	if g.renewed == nil {
		return nil
	}
	for _, s := range slices.Backward(g.renewed.shorter) {
		r, promised := g.renewed.list[s.renewal], satAdd(g.since, g.lease)
		if s.renewal > 0 {
			promised = max(promised, g.renewed.reach[s.renewal-1])
		}
		if s.from <= t && t < min(s.to, promised) {
			return []int32{r.inv, r.ok}
		}
	}
	return nil
}
