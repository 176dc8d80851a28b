package checker

import (
	"fmt"
	"slices"
)

// near says why some shift of the clocks could make a property that holds by the times as
// they are one that does not; "" if none can. It may say so of one that no shift breaks.
func (an *analysis) near(property string) string {
	if an.unlocked {
		return "what clients without a lock did at once, only their clocks say"
	}
	if len(an.faults.list) > 0 || an.heldAtEnd() {
		// Faults and the history's end have clocks of their own, and what they excuse lies
		// between clients.
		apart := *an
		apart.clocks = an.clocks.apart()
		an = &apart
	}
	for _, k := range an.locks {
		if an.clocks.together(k) {
			continue
		}
		if why := an.nearIn(property, k); why != "" {
			return fmt.Sprintf("of %s, %s", k.name, why)
		}
	}
	if property == Liveness {
		return an.nearFaults()
	}
	return ""
}

// heldAtEnd says whether a grant that lasted to the history's end came so late that it
// may have been after that, by its client's clock.
func (an *analysis) heldAtEnd() bool {
	return slices.ContainsFunc(an.locks, func(k *lock) bool {
		return slices.ContainsFunc(k.grants, func(g *grant) bool {
			return g.believedEnd == an.last && g.okT >= an.last-an.clocks.skew
		})
	})
}

func (an *analysis) nearIn(property string, k *lock) string {
	switch property {
	case Exclusion:
		if why := an.nearHolds(k); why != "" {
			return why
		}
		if mayReleaseWrongly(k) && an.overlapped(k) {
			return "grants of two machines came that near to each other, and a release may have let one of them in"
		}
	case Belief:
		switch {
		case an.kills():
			return "clients were killed, by another clock than theirs"
		case an.meet(k, an.believedPieces(k)):
			return "clients of two machines believed that they held it that near to each other"
		}
	case Tokens:
		switch {
		case an.clocks.nearTokens(k):
			return "grants of two machines came that near to each other, the one with the smaller token perhaps later"
		case an.nearJoint(k):
			return "grants of two machines came that near to each other, and no order may both keep them apart and let their tokens rise"
		}
	case Register:
		if an.log != nil && len(an.log.refused) > 0 {
			return "operations were refused whose client may have been the rightful holder"
		}
		return an.nearTouches(k)
	case Liveness:
		if an.longWaits(k) {
			return "a client waited longer than it should have to, and whether nobody held it meanwhile is not certain"
		}
	}
	return ""
}

// mayReleaseWrongly says whether the lock has what a wrong release takes: three grants of a
// mutex, and a release that the service agreed to and did not say to have been the holder's.
func mayReleaseWrongly(k *lock) bool {
	return k.mutex() && len(k.grants) > 2 && slices.ContainsFunc(k.released, func(o *op) bool { return o.typ == tOK && !o.heldOK })
}

// overlapped says whether the lock was granted twice by the times as they are: whose release
// did it is a matter of the order of others' times.
func (an *analysis) overlapped(k *lock) bool {
	return slices.ContainsFunc(an.overlaps.early, func(e earlyPair) bool { return e.newer.lock == k }) ||
		slices.ContainsFunc(an.overlaps.doubles, func(d doublePair) bool { return d.newer.lock == k })
}

// nearHolds is near for what exclusion forbids: leases, or holds that nothing excuses.
func (an *analysis) nearHolds(k *lock) string {
	pieces, timeless := []piece(nil), false
	for _, g := range k.grants {
		for _, s := range g.pieces() {
			pieces = append(pieces, piece{s, g})
		}
		if g.timeless() {
			timeless = true
			to := an.believedUntil(g)
			if an.opt.TTL > 0 {
				to = min(to, satAdd(g.okT, int64(spent*float64(an.opt.TTL))))
			}
			pieces = append(pieces, piece{span{g.okT, to}, g})
		} else if g.end() <= g.okT { // it has to have begun somewhere
			w := g.givenWithin()
			pieces = append(pieces, piece{span{w.from, w.to + 1}, g})
		}
	}
	switch {
	case timeless && an.kills():
		return "clients were killed, by another clock than theirs"
	case an.meet(k, pieces):
		return "grants of two machines were in force that near to each other"
	}
	return ""
}

func (an *analysis) believedPieces(k *lock) []piece {
	var out []piece
	for _, g := range k.grants {
		if to := an.believedUntil(g); to > g.okT {
			out = append(out, piece{span{g.okT, to}, g})
		}
	}
	return out
}

// believedUntil is how long a client may have believed in its grant; who did to the
// history's end may have done so for longer, by its own clock.
func (an *analysis) believedUntil(g *grant) int64 {
	if g.believedEnd == an.last {
		return an.last + an.clocks.skew
	}
	return g.believedEnd
}

// meet says whether some shift of the clocks could make stretches of different machines
// meet that must not, by the kind of lock.
func (an *analysis) meet(k *lock, pieces []piece) bool {
	if k.permits > 0 {
		return an.meetPermits(k, pieces)
	}
	sortBy(pieces, func(p piece) int64 { return p.from })
	var all, alone furthest
	for _, p := range pieces {
		clock := an.clocks.of[p.g.process]
		rivals := &all
		if p.g.mode == shared {
			rivals = &alone
		}
		if to, ok := rivals.besides(clock); ok && to > p.from-an.clocks.skew {
			return true
		}
		all.add(clock, p.to)
		if p.g.mode != shared {
			alone.add(clock, p.to)
		}
	}
	return false
}

// meetPermits is meet of a semaphore: the stretches widened by half of the skew hold all
// that a shift can make of them.
func (an *analysis) meetPermits(k *lock, pieces []piece) bool {
	half := (an.clocks.skew + 1) / 2
	for i := range pieces {
		pieces[i].from, pieces[i].to = pieces[i].from-half, pieces[i].to+half
	}
	sortBy(pieces, func(p piece) int64 { return p.from })
	c := k.capacity()
	if c == nil {
		return true
	}
	for _, p := range pieces {
		if c.conflicts(p) != nil {
			return true
		}
		c.add(p)
	}
	return false
}

// readsInDoubt says that only the times tell which reads of unknown outcome are in the
// register's log, whose clock is its own.
func (an *analysis) readsInDoubt() bool {
	return an.log != nil && slices.ContainsFunc(an.locks, func(k *lock) bool {
		return slices.ContainsFunc(k.ops, func(o *op) bool { return o.f == fRead && o.typ == tInfo })
	})
}

// nearTouches is near for the register. The order of its effects is the log's, whatever
// the clocks; that of the grants is the tokens', if no shift contradicts them.
func (an *analysis) nearTouches(k *lock) string {
	if an.log == nil {
		return ""
	}
	ordered := !an.tokens.unsound(k) && !an.clocks.nearTokens(k) &&
		!slices.ContainsFunc(k.grants, func(g *grant) bool { return g.token == 0 })
	if ordered {
		return ""
	}
	var newer furthest
	top := int64(0)
	for _, e := range an.log.keys[k.name] {
		if !e.known() {
			continue
		}
		clock := an.clocks.of[e.g.process]
		if lo, ok := newer.besides(clock); ok && e.writes() && e.g.okT < lo+an.clocks.skew {
			return "which of two grants of different machines was the newer one is not certain"
		}
		if e.writes() && e.g.token != 0 && e.g.token < top {
			return "whether the tokens tell which of two grants was the newer one is not certain"
		}
		top = max(top, e.g.token)
		newer.add(clock, e.g.lo)
	}
	return ""
}

// nearJoint says whether some shift of the clocks could leave no order of the grants that keeps
// them apart and lets their tokens rise; see jointBreak.
func (an *analysis) nearJoint(k *lock) bool {
	if !k.mutex() {
		return false
	}
	var ends furthest
	for _, g := range byToken(k.grants) {
		clock := an.clocks.of[g.process]
		if to, ok := ends.besides(clock); ok && to > g.okT-an.clocks.skew {
			return true
		}
		to := max(g.lo, g.heldTo())
		if g.believedEnd == an.last {
			to = max(to, min(an.believedUntil(g), to+an.clocks.skew))
		}
		ends.add(clock, to)
	}
	return false
}

// longWaits says whether a client waited for longer than the bound, or than is fair.
func (an *analysis) longWaits(k *lock) bool {
	limit := an.opt.Bound
	if an.opt.Fair > 0 {
		limit = min(limit, an.opt.Fair)
	}
	long := false
	k.eachWait(func(w *waiting) bool {
		long = w.to-w.from > limit-an.clocks.skew
		return !long
	})
	return long
}

// nearFaults is near for what liveness takes from faults, which have a clock of their own.
func (an *analysis) nearFaults() string {
	if an.failing && len(an.faults.list) > 0 {
		return "clients' programs failed, and whether a fault explains it is not certain"
	}
	return ""
}
