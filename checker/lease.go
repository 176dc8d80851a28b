package checker

import (
	"cmp"
	"slices"
)

// interval is the time [from, to).
type interval struct{ from, to int64 }

// findAlive computes when the grant's lease was certainly alive.
//
// The evidence: the acquire's own lease (it cannot have begun later than its
// ok nor ended before since + lease); an ok renew or release with held, by which
// the service itself says that the grant was in force until that request came;
// an ok renew without held, which promises since + lease, which can be sooner than what was promised before (shortened, doubted), but says nothing of a
// gap before it, so that it counts from its own ok unless the lease was still
// alive then; if the hold was entered again in that gap, it may be of what that entry
// began, and counts for nothing. An answer with held that a later grant disproves counts as one without
// (dropFalseConfirmations). All of it ends with the release's invoke or the loss notice, and
// where its own client was granted the lock anew (linkOwn). A killed client ends nothing:
// the promise is the service's. But one that has started again and asks for the lock may be the same owner to it, and
// a request that takes nothing may be undone together with what its former process had.
func (g *grant) findAlive() {
	end := g.okT
	if g.lease > 0 {
		end = max(end, satAdd(g.since, g.lease))
		g.promised = satAdd(g.since, g.lease)
	}
	cut := min(g.lostT, g.askedT)
	if g.anew != nil {
		cut = min(cut, g.anew.replaces())
	}
	if r := g.release; r != nil {
		cut = min(cut, r.invT)
		if g.releaseHeld() {
			end = max(end, r.invT)
		}
	}
	for _, r := range g.renewals() {
		if r.held {
			end = max(end, r.heldUntil, r.until)
		}
	}
	var room [4]interval
	intervals := append(room[:0], interval{g.okT, end})
	for _, r := range g.renewals() { // by the time of their ok
		last := &intervals[len(intervals)-1]
		if r.okT > last.to && g.enteredWithin(last.to, r.okT) {
			continue
		}
		g.promised = max(g.promised, r.until)
		switch {
		case r.until <= last.to:
		case r.okT <= last.to:
			last.to = r.until
		case r.until > r.okT:
			intervals = append(intervals, interval{r.okT, r.until})
		}
	}
	if g.renewed != nil {
		if g.renewed.shorter = g.shortened(); len(g.renewed.shorter) > 0 {
			cut := make([]interval, 0, len(g.renewed.shorter))
			for _, s := range g.renewed.shorter {
				cut = append(cut, s.interval)
			}
			intervals = without(intervals, cut)
		}
	}
	g.doubts = nil
	if list := g.doubted(); len(list) > 0 {
		g.doubts = &list
		intervals = without(intervals, list)
	}
	for i := range intervals {
		intervals[i].to = min(intervals[i].to, cut)
	}
	g.setIntervals(slices.DeleteFunc(intervals, func(s interval) bool { return s.to <= s.from }))
}

// linkOwn links the grants of clients that were granted the lock anew, which ends the older ones.
// A client that was killed and has started again may be the same owner to the lock, which then
// gives it back what it held. No other client has a part in that. What it holds from then on is the
// newer grant's to say. A semaphore has another permit for it, and an entry is one more of the same hold.
func (k *lock) linkOwn() {
	if k.permits > 0 {
		return
	}
	last := map[string][]*grant{} // by process: the latest hold and its entries
	for _, g := range k.grants {
		list := last[g.process]
		if g.mode == nested {
			k.entered(g)
		} else {
			for _, old := range list {
				old.anew = g
			}
			list = list[:0]
		}
		last[g.process] = append(list, g)
	}
}

// goesOn says that g's client may have been given g back: that g may have lasted until the newer grant, as it was not given back, or nobody knows
// whether it was. If an acquire of the client has no known outcome, a lock that its holder may enter again counts one more than the client knows
// of, and keeps the hold when the client gives back what it does know of.
func (g *grant) goesOn() bool {
	n := g.anew
	switch {
	case n == nil:
		return false
	case g.lock.unknownBefore(g.process, n.okT):
		return true
	case g.release != nil && (g.release.typ == tOK || g.release.notHeld), g.lost >= 0:
		return false
	}
	return g.hasNoLease() || g.mayLast(n.lo-g.longer)
}

// noteUnknown notes each process's first acquire whose outcome is not known.
func (k *lock) noteUnknown() {
	for _, o := range k.acquires { // by invoke
		if o.typ != tInfo {
			continue
		}
		k.unanswered = append(k.unanswered, o)
		if k.unknown == nil {
			k.unknown = map[string]int64{}
		}
		if _, ok := k.unknown[o.process]; !ok {
			k.unknown[o.process] = o.invT
		}
	}
}

// unknownBefore says that a process had sent an acquire by t whose outcome is not known.
func (k *lock) unknownBefore(process string, t int64) bool {
	first, ok := k.unknown[process]
	return ok && first < t
}

// replaces is until when an older grant of the same client lasted for certain: until this one
// was given. That was before its ok, and of a lease that was over by then, even before its end. At that very
// instant a third grant of no length fits in, and clocks that are apart shift the instant.
func (g *grant) replaces() int64 {
	if g.lease == 0 {
		return g.lo
	}
	return max(g.lo, min(g.okT-g.lock.margin, satAdd(g.since, g.lease)))
}

func (g *grant) intervals() []interval {
	if g.many != nil {
		return *g.many
	}
	return g.one[:g.intervalN]
}

func (g *grant) setIntervals(intervals []interval) {
	if len(intervals) > len(g.one) {
		many := slices.Clone(intervals)
		g.many = &many
		return
	}
	g.intervalN = uint8(copy(g.one[:], intervals))
}

func (g *grant) renewals() []renewal {
	if g.renewed == nil {
		return nil
	}
	return g.renewed.list
}

func (g *grant) addRenewal(r renewal) {
	if g.renewed == nil {
		g.renewed = &renewals{}
	}
	g.renewed.add(r)
}

// askRenewal takes a renewal whose outcome is unknown until it is answered.
func (g *grant) askRenewal(o *op) {
	if g.unsure == nil {
		g.unsure = new([]*op)
	}
	*g.unsure = append(*g.unsure, o)
}

// answerRenewal takes one whose outcome is known.
func (g *grant) answerRenewal(o *op) {
	if g.unsure == nil {
		return
	}
	for i, asked := range slices.Backward(*g.unsure) { // a client asks one after the other, as a rule
		if asked == o {
			*g.unsure = slices.Delete(*g.unsure, i, i+1)
			return
		}
		if len(*g.unsure)-i > maxBetween {
			return
		}
	}
}

func satAdd(a, b int64) int64 {
	if a > never-b {
		return never
	}
	return a + b
}

// end is until when the grant was alive without a gap from its ok on; okT where
// that is nothing.
func (g *grant) end() int64 {
	if len(g.intervals()) > 0 && g.intervals()[0].from == g.okT {
		return g.intervals()[0].to
	}
	return g.okT
}

// aliveAt says whether the lease certainly had time left at t.
func (g *grant) aliveAt(t int64) bool {
	return g.aliveUntil(t) > t
}

// intervalAt is the interval in which the lease was certainly alive that began last by t; one of
// no length where none had begun.
func (g *grant) intervalAt(t int64) interval {
	intervals := g.intervals()
	n, _ := slices.BinarySearchFunc(intervals, t, func(s interval, t int64) int { return cmp.Or(cmp.Compare(s.from, t), -1) })
	if n == 0 {
		return interval{t, t}
	}
	return intervals[n-1]
}

// leaseLeft is how much time the lease had left at t, by what had been promised
// until then; where nothing had been promised, how much longer it was certainly held.
func (g *grant) leaseLeft(t int64) int64 {
	until := t
	if g.lease > 0 {
		until = max(until, satAdd(g.since, g.lease))
	}
	if n := g.renewed.before(t); n > 0 {
		until = max(until, g.renewed.reach[n-1])
	}
	if until == t {
		until = g.aliveUntil(t)
	}
	return min(until, g.shortenedAt(t)) - t
}

// aliveOver says whether the lease was certainly alive for all of [a, b].
func (g *grant) aliveOver(a, b int64) bool {
	return b < g.intervalAt(a).to
}

// releaseHeld says that the release was answered with the service's word that
// the grant had been in force until then.
func (g *grant) releaseHeld() bool {
	r := g.release
	return r != nil && r.inv >= 0 && r.heldOK
}

// unconfirm takes these answers, by the indices of their events, for ones that confirm nothing.
func (g *grant) unconfirm(answers map[int32]bool) {
	if r := g.release; r != nil && answers[r.comp] {
		r.heldOK, r.untrue = false, true
	}
	old := g.renewals()
	g.renewed = nil
	for _, r := range old {
		r.held = r.held && !answers[r.ok]
		g.addRenewal(r)
	}
}

// evidenceAt lists the events that show the lease alive at t, as refs.
func (g *grant) evidenceAt(t int64) []int32 { return g.evidenceOver(t, t) }

// evidenceOver lists the events that show the lease alive over all of [from, to], as refs: the
// acquire's ok and as few others as will do.
func (g *grant) evidenceOver(from, to int64) []int32 {
	out := []int32{g.ok}
	at := from // it is shown for what comes before
	if g.lease > 0 {
		at = max(at, satAdd(g.since, g.lease))
	}
	if at > to {
		return out
	}
	if r := g.renewed.promisesBeyond(to); r != nil && r.okT <= at {
		return append(out, r.ok)
	}
	if r := g.renewed.provesBeyond(to); r != nil {
		if r.until <= to { // it is not the renewal's promise that reaches beyond
			out = append(out, r.inv)
		}
		return append(out, r.ok)
	}
	if r := g.release; g.releaseHeld() && r.invT > to {
		return append(out, r.inv, r.comp)
	}
	believed := false
	for at <= to {
		// A promise counts from its answer on, the service's word for all of the time before it.
		r := g.renewed.furthest(at)
		if r == nil || r.until <= at {
			if r = g.renewed.provesMost(); r == nil || believed {
				break
			}
			believed = true
			out = append(out[:0], g.ok)
			if r.until < r.heldUntil {
				out = append(out, r.inv)
			}
		}
		out = append(out, r.ok)
		at = max(at, r.until)
		if r.held {
			at = max(at, r.heldUntil)
		}
	}
	return out
}

// aliveUntil is the end of the alive interval that holds t, or t.
func (g *grant) aliveUntil(t int64) int64 {
	return max(t, g.intervalAt(t).to)
}

// grantedBeyond says that no renewal is needed to promise the lease beyond t.
func (g *grant) grantedBeyond(t int64) bool { return g.lease > 0 && satAdd(g.since, g.lease) > t }

// promiseProof is the renewal, if it took one, that promised the lease beyond t.
func (g *grant) promiseEvidence(t int64) int32 {
	if g.grantedBeyond(t) {
		return -1
	}
	if r := g.renewed.promisesBeyond(t); r != nil {
		return r.ok
	}
	return -1
}

// startsAt says that an alive interval begins at t: another grant can lie just
// before it.
func (g *grant) startsAt(t int64) bool {
	s := g.intervalAt(t)
	return s.from == t && s.to > t
}
