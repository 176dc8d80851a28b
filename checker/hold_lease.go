package checker

import (
	"cmp"
	"slices"
)

// leaseSet is what sets the lease of a hold anew: an entry, or a renewal of any of the hold's grants.
type leaseSet struct {
	of           *grant
	sent, ok     int64
	lease, until int64
	refs         [2]int32 // its events
}

// leaseSets lists those of a hold that was entered again, by their ends. What does not say for how long it is may be for as little as another one of the record; if no
// other is known, it is left out.
func (k *lock) leaseSets(first *grant) []leaseSet {
	var out []leaseSet
	add := func(s leaseSet) {
		if s.lease <= 0 {
			s.lease = k.shortest
			s.until = satAdd(s.sent, s.lease)
		}
		if s.lease > 0 {
			out = append(out, s)
		}
	}
	renewed := func(g *grant) {
		for _, r := range g.renewals() {
			if r.lease > 0 || r.inv >= 0 {
				add(leaseSet{g, r.sent(), r.okT, r.lease, r.until, [2]int32{r.inv, r.ok}})
			}
		}
	}
	renewed(first)
	for _, e := range k.entries[first] {
		if e == first { // of a history in which nothing comes before it
			continue
		}
		add(leaseSet{e, e.lo, e.okT, e.lease, satAdd(e.since, e.lease), [2]int32{e.loEvidence(), e.ok}})
		renewed(e)
	}
	slices.SortFunc(out, func(a, b leaseSet) int { return cmp.Or(cmp.Compare(a.ok, b.ok), cmp.Compare(a.sent, b.sent)) })
	return out
}

// shorterHold is when the lease of a hold can have ended by what set it, whatever an earlier grant or renewal of it had been promised: a hold has one
// lease, which all its entries share. They are by the answers to what set it.
//
// Of two that were under way at once, either may be the later one. If it is the one that asks for less, it began no sooner than the other was sent. A bound keeps a
// hostile history from making this quadratic.
func (k *lock) shorterHold(first *grant) holdLeases {
	if out, known := k.shorter[first]; known {
		return out
	}
	sets := k.leaseSets(first)
	var out holdLeases
	for i, s := range sets {
		from := s.until
		for _, q := range sets[max(0, i-maxBetween):min(len(sets), i+1+maxBetween)] {
			if q.sent < s.ok && q.ok > s.sent && q.refs != s.refs {
				from = max(from, min(satAdd(max(s.sent, q.sent), s.lease), q.until))
			}
		}
		out.list = append(out.list, shorterLease{interval{from, never}, s.of, s.ok, s.refs})
	}
	out.soonest = make([]int64, len(out.list))
	soonest := never
	for i, s := range slices.Backward(out.list) {
		soonest = min(soonest, s.from)
		out.soonest[i] = soonest
	}
	for _, h := range append([]*grant{first}, k.entries[first]...) {
		out.word = max(out.word, h.lastWords()[0])
	}
	if k.shorter == nil {
		k.shorter = map[*grant]holdLeases{}
	}
	k.shorter[first] = out
	return out
}

// holdLeases are those of a hold, and for each one when the first of it and all later ones begins.
type holdLeases struct {
	list    []shorterLease
	soonest []int64
	word    int64 // until when the lock said at last that the lease had been in force
}

// shorterLease is when a lease need not have been in force, and when the answer came to what left it less.
type shorterLease struct {
	interval
	by       *grant // which of the hold: of its own grant, lease.go tells
	answered int64
	refs     [2]int32 // the events of what left it less
}

// shorterEvidence lists the events by which a grant's lease need not have lasted as long as it was promised, before it was renewed at t: else it would still have the lock.
func (g *grant) shorterEvidence(t int64) []int32 {
	var refs []int32
	for _, s := range g.shortenedByHold() {
		if s.from < t {
			refs = append(refs, s.refs[:]...)
		}
	}
	return refs
}

// doubtedByHold is when a grant's lease need not have been in force, since what came after it in its hold was for less.
func (g *grant) doubtedByHold() []interval {
	var out []interval
	for _, s := range g.shortenedByHold() {
		out = append(out, s.interval)
	}
	return out
}

// shortenedByHold is when a grant's lease need not have been in force, and by what. What the lock said later of the time before counts, and so does the grant's own next
// renewal. A bound keeps a hostile history from making this quadratic: what is beyond it is in doubt.
func (g *grant) shortenedByHold() []shorterLease {
	first := g.ofHold()
	if len(g.lock.entries[first]) == 0 {
		return nil
	}
	own, ends := g.renewals(), satAdd(g.since, g.lease)
	if len(own) > 0 {
		ends = max(ends, g.renewed.reach[len(own)-1])
	}
	var out []shorterLease
	hold := g.lock.shorterHold(first)
	n, _ := slices.BinarySearchFunc(hold.list, g.lo, func(s shorterLease, t int64) int { return cmp.Or(cmp.Compare(s.answered, t), 1) })
	for i, s := range hold.list[n:] {
		if hold.soonest[n+i] >= ends {
			break // what comes later ends no sooner
		}
		after := own[g.renewed.before(s.answered):]
		if i := slices.IndexFunc(after[:min(len(after), maxBetween)], func(r renewal) bool { return r.lease > 0 && r.sent() >= s.answered }); i >= 0 {
			s.to = after[i].okT
		}
		switch s.from = max(s.from, hold.word); {
		case s.by == g, s.from >= min(ends, s.to), s.answered == g.lo && s.refs[1] < g.ok:
			continue
		case len(out) == maxBetween:
			s.to = never
			return append(out, s)
		}
		out = append(out, s)
	}
	return out
}
