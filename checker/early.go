package checker

// earlyPair is a grant that was certainly given while others' leases were alive.
type earlyPair struct {
	newer *grant
	crowd // one, or the several whose leases together cover newer's window
	// from is where the overlap certainly begins.
	from int64
	// covered says that newer's own lease is no evidence: it had ended before
	// its ok, but every instant at which it can have been granted was another's.
	covered bool
	renewed bool // the evidence of newer is a renewal, not its acquire
}

// holdInterval is an interval in which one grant held its lock.
type holdInterval struct {
	interval
	g *grant
}

// findEarly decides exclusion exactly: a history of grants is possible for a
// mutex with leases if and only if no pair comes of this (early_test.go shows it
// against Porcupine and against trying all orders).
//
// A grant whose lease outlived its ok holds the lock at least over [ok, end); a
// grant whose lease was over by then needs only one instant in [max(lo, end), ok]
// at which nobody else held. So: the alive intervals must not intersect, and no
// such window may lie wholly inside their union. Both are one sweep. Intervals
// are half-open: what ends at t does not hinder what begins at t.
func findEarly(locks []*lock) []earlyPair {
	var out []earlyPair
	for _, k := range locks {
		out = append(out, k.earlyOf(k.grants)...)
	}
	return out
}

// earlyOf is findEarly for some grants of one kind of lock. What a kind other than the mutex is
// accused of are leases that were certainly alive at one instant; of a lease that was
// over before its client learnt of it they are not accused.
func (k *kind) earlyOf(grants []*grant) []earlyPair {
	c := k.capacity()
	if c == nil {
		return nil
	}
	intervals := make([]holdInterval, 0, len(grants))
	for _, g := range grants {
		for _, s := range g.intervals() {
			intervals = append(intervals, holdInterval{s, g})
		}
	}
	sortBy(intervals, func(p holdInterval) int64 { return p.from })

	var out []earlyPair
	accused := map[*grant]bool{}
	for _, p := range intervals {
		if older := c.conflicts(p); older != nil && !accused[p.g] {
			accused[p.g] = true
			out = append(out, earlyPair{newer: p.g, crowd: crowdOf(older, len(out) == 0), from: p.from, renewed: p.from != p.g.okT})
		}
		c.add(p)
	}
	if !k.mutex() {
		return out
	}

	// The windows of the grants whose lease was over by their ok.
	var cover *covering
	for _, g := range grants {
		if g.end() > g.okT || accused[g] {
			continue
		}
		if cover == nil {
			cover = coveringOf(intervals)
		}
		if crowd := cover.of(g.givenWithin()); crowd != nil {
			out = append(out, earlyPair{newer: g, crowd: *crowd, from: g.okT, covered: true})
		}
	}
	return out
}

// givenWithin is when the grant can have been given, for one whose lease had ended
// before its ok: not before its lease was over, since until then it held.
func (g *grant) givenWithin() interval {
	from := g.lo
	if g.lease > 0 {
		from = max(from, satAdd(g.since, g.lease))
	}
	return interval{min(from, g.okT-g.lock.margin), g.okT}
}
