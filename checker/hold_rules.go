package checker

import (
	"cmp"
	"slices"
)

// holdRules say how long grants had their lock: by their leases, or, where they promise
// none, by all that is known.
type holdRules struct {
	ttl    int64 // the lease that the clients asked for; 0: nothing is known of one
	faults *faultLog
}

// presumedHolds lists when the lock was held by all that is known, by begin.
func (n *holdRules) presumedHolds(k *lock) []holdInterval { return k.holdsBy(n.presumedHold) }

// holdsBy lists when the lock was held, by begin: by leases, and where a grant promises none, as unleased says.
func (k *lock) holdsBy(unleased func(*grant) interval) []holdInterval {
	out := make([]holdInterval, 0, len(k.grants))
	for _, g := range k.grants {
		if !g.hasNoLease() {
			for _, s := range g.intervals() {
				out = append(out, holdInterval{s, g})
			}
			continue
		}
		if s := unleased(g); s.to > s.from {
			out = append(out, holdInterval{s, g})
		}
	}
	sortBy(out, func(p holdInterval) int64 { return p.from })
	return out
}

// hasNoLease says that nothing in the history promises how long the grant lasts.
func (g *grant) hasNoLease() bool {
	return g.lease == 0 && g.renewed.promised() <= 0
}

// spent is the part of the lease that its client asked for after which a grant that
// promises none may be over: when it began, only its acquire's ok shows, which came a
// little later.
const spent = 0.9

// presumedHold is how long a grant without a lease held the lock by all that is known; it is
// empty where a fault was on when it was given. One that was over a lease before the client learnt of its grant is no
// excuse: what it ended had ended by then, and the answer to the acquire was not late for it. If the client's library
// promises to renew the grant, it does not end by itself.
func (n *holdRules) presumedHold(g *grant) interval {
	s := n.believedHold(g)
	s.to = min(s.to, n.harmed(g))
	return s
}

// believedHold is the same, whatever faults were on: until its client gave it back or lost it, or the lease that it asked for was over.
func (n *holdRules) believedHold(g *grant) interval {
	s := interval{g.okT, g.believedEnd}
	if n.ttl > 0 && !g.watchdog {
		s.to = min(s.to, satAdd(g.okT, int64(spent*float64(n.ttl))))
	}
	return s
}

// harmed is since when a fault may have ended the grant; never if none may.
func (n *holdRules) harmed(g *grant) int64 {
	since := g.lo
	if n.ttl > 0 {
		since = max(since, g.okT-n.ttl)
	}
	return n.faults.harmFrom(g, since)
}

// presumedEnd is until when the grant was held by all that is known.
func (n *holdRules) presumedEnd(g *grant) int64 {
	if g.hasNoLease() {
		return n.presumedHold(g).to
	}
	return g.aliveUntil(g.okT)
}

// certainHolds lists when grants had the lock for certain, by begin: by their leases, by all
// that is known, and by the service's word.
func (n *holdRules) certainHolds(k *lock) []holdInterval {
	out := append(n.presumedHolds(k), confirmedHolds(k.grants)...)
	sortBy(out, func(p holdInterval) int64 { return p.from })
	return out
}

// confirmedHolds lists when grants that promise no lease had the lock by the service's word.
func confirmedHolds(grants []*grant) []holdInterval {
	var out []holdInterval
	for _, g := range grants {
		if !g.hasNoLease() {
			continue
		}
		for _, s := range g.intervals() {
			out = append(out, holdInterval{s, g})
		}
	}
	return out
}

// anotherHad says whether another client had the lock at some time in [from, to). Where
// nothing is wrong the intervals do not overlap, and the latest to begin reaches furthest.
func anotherHad(intervals []holdInterval, process string, from, to int64) bool {
	n, _ := slices.BinarySearchFunc(intervals, to, func(p holdInterval, t int64) int { return cmp.Compare(p.from, t) })
	return n > 0 && intervals[n-1].g.process != process && intervals[n-1].to > from
}
