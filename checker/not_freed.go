package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["not-freed"] = findNotFreed }

const (
	// leastKept is for how long at least a lock must have stayed taken for that to show by a single grant: no library takes as long to ask for the first time, and
	// no machine that records its own stalls.
	leastKept = 1e9
	// leastKeptOften is the same where it comes again and again: keptAlways times if no client was granted the lock before such a lease would have
	// ended; else keptOften times, and at least as often as that.
	leastKeptOften        = 100e6
	keptAlways, keptOften = 3, 5
	// mostAsked is how many acquires are looked at for one that was sent after a release.
	mostAsked = 64
)

// findNotFreed finds grants that came only when a lease had run out that had been released before: the release was confirmed, and yet the lock
// stayed taken. A client that asks when the lock is free is granted it by its first request, however seldom it asks after that. So a client
// must have asked after the release, which had been granted a lock before: else it may have had to start. Clients that asked before may look
// again when the lease is over, and not sooner.
//
// That nobody had the lock meanwhile, or may have, is read as for a deadlock. No fault was on since the release was sent, nobody had given up,
// and no request had been lost.
func findNotFreed(an *analysis) []Anomaly {
	if an.opt.widened {
		return nil
	}
	disturbed := disturbed(an)
	quiet := joined(disturbed, 0)
	granted := firstGrants(an.locks)
	var out []Anomaly
	for _, k := range an.locks {
		released := k.releasedLeases()
		if len(released) == 0 {
			continue
		}
		full := joined(k.full(busy(an, k, joined(disturbed, an.opt.Bound))), 0)
		kept, inTimes := an.keptOf(k, released, granted, &idle{[2][]interval{quiet}, an.last}, &idle{[2][]interval{quiet, full}, an.last})
		lost := newLostRequests(k, an)
		var long []keptLease
		for _, l := range kept {
			if l.long = true; l.enough(l.left()) && l.newer.lo-l.asked.invT >= leastKept && !lost.mayHold(l.asked.invT, l.newer.okT) {
				long = append(long, l)
			}
		}
		unexcused := len(kept) - len(lost.list) // each of these may have had it once
		switch {
		case len(long) > 0:
			out = append(out, an.notFreed(long)...)
		case unexcused >= keptOften && unexcused >= inTimes, unexcused >= keptAlways && inTimes == 0:
			out = append(out, an.neverFreed(kept, len(kept)+inTimes))
		}
	}
	return out
}

// keptOf are the leases of a lock that went on after their release, and inTimes is how many did not: another client was granted the lock before they would have
// ended. No fault is on when it is quiet, and when it is free the lock can be granted to another client, too.
func (an *analysis) keptOf(k *lock, released []keptLease, granted map[string]*grant, quiet, free *idle) (kept []keptLease, inTimes int) {
	refused, acquires := k.refusedAcquires(), k.allAcquires()
	var ends maxTree
	ends.build(len(acquires), func(i int) int64 { return acquires[i].endT })
	for l := range inTime(an.limit, released) {
		gaveUp := lastBy(refused, l.newer.okT)
		switch {
		case gaveUp != nil && gaveUp.endT > l.released.okT: // what it left behind may keep the lock
			continue
		case !quiet.over(l.released.release.invT, l.newer.okT):
			continue
		case l.waitedThrough(acquires, &ends, quiet): // it may have been granted the lock, and not been told
			continue
		case l.until > l.newer.okT:
			inTimes++
			continue
		}
		if l.asked = l.askedSince(acquires, granted); l.asked == nil {
			continue
		}
		l.first = granted[l.asked.process]
		deadlock := l.newer.lo-l.asked.invT > an.opt.Bound
		if l.enough(l.left()) && !deadlock && free.over(l.asked.invT, l.newer.lo) {
			kept = append(kept, l)
		}
	}
	return kept, inTimes
}

// keptLease is a lease that was given back, and the grant that came next; and the acquire that was sent between the two, and what its
// client had been granted first of all.
type keptLease struct {
	released, newer *grant
	until           int64 // when the lease was to end
	asked           *op
	first           *grant
	long            bool // it shows by itself
}

// enough says whether the lock stays taken for long enough if so much of the lease is left when the client asks.
func (l keptLease) enough(left int64) bool {
	if l.long {
		return left >= max(leastKept, l.released.lease/2)
	}
	return left >= max(leastKeptOften, l.released.lease/4)
}

// lostRequests are the acquires of a lock of which nobody knows what came of them, by their ends.
type lostRequests struct {
	list []*op
	sent []int64 // when the first was sent, of each and those after it
	last int64   // for how long after its end each may be carried out, or hold the lock
}

func newLostRequests(k *lock, an *analysis) lostRequests {
	l := lostRequests{list: k.unknownAcquires(an.last), last: satAdd(an.maxLease, an.opt.Bound)}
	l.sent = make([]int64, len(l.list))
	first := never
	for i, o := range slices.Backward(l.list) {
		first = min(first, o.invT)
		l.sent[i] = first
	}
	return l
}

// mayHold says that one of them may hold the lock at some time in [from, to].
func (l lostRequests) mayHold(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(l.list, from-l.last, func(o *op, t int64) int { return cmp.Compare(o.endT, t) })
	return i < len(l.list) && l.sent[i] < to
}

// left is how much of the lease was left when the client asked.
func (l keptLease) left() int64 { return l.until - l.asked.invT }

// firstGrants are of each process its first grant of any lock.
func firstGrants(locks []*lock) map[string]*grant {
	first := map[string]*grant{}
	for _, k := range locks {
		for _, g := range k.grants {
			if f := first[g.process]; f == nil || g.okT < f.okT {
				first[g.process] = g
			}
		}
	}
	return first
}

// releasedLeases are the leases that were given back before the next grant with a good part left of them: of those of several clients that had the lock at once, before
// another one had it, the one that was to end last.
func (k *lock) releasedLeases() []keptLease {
	var out []keptLease
	for n, newer := range k.grants {
		last := keptLease{newer: newer}
		room := max(1, k.permits)
		for i := n - 1; i >= max(0, n-mostLeft) && room > 0; i-- {
			g := k.grants[i]
			if g.first != nil { // its hold is looked at
				continue
			}
			if g.mode != shared {
				room--
			}
			until, ok := g.givenBack()
			if !ok || g.release.endT > newer.okT {
				continue
			}
			if until-g.release.endT >= max(leastKeptOften, g.lease/4) && (last.released == nil || until > last.until) {
				last.released, last.until = g, until
			}
		}
		if last.released != nil {
			out = append(out, last)
		}
	}
	return out
}

// givenBack is until when the lease was promised, if its client has given back all that it had of the lock: its first grant last.
func (g *grant) givenBack() (until int64, ok bool) {
	if g.lease <= 0 || g.unsure != nil && len(*g.unsure) > 0 {
		return 0, false
	}
	for _, e := range g.lock.inHoldOf(g) {
		if r := e.release; r == nil || r.typ != tOK || r.inv < 0 || r.endT > g.release.endT {
			return 0, false
		}
		until = max(until, e.promised)
	}
	return until, true
}

// askedSince is the first acquire that was sent after the release, and was under way until the next grant, or is that; nil for none. Its client had been
// granted a lock before.
func (l keptLease) askedSince(acquires []*op, granted map[string]*grant) *op {
	from, _ := slices.BinarySearchFunc(acquires, l.released.release.endT, func(o *op, t int64) int { return cmp.Or(cmp.Compare(o.invT, t), -1) })
	for _, o := range acquires[from:min(len(acquires), from+mostAsked)] {
		first := granted[o.process]
		if o.invT >= l.newer.lo {
			return nil
		}
		if o.endT >= l.newer.okT && first != nil && first.okT < o.invT {
			return o
		}
	}
	return nil
}

// waitedThrough says that another client was waiting when the lock was released, and that a fault had been on since it had asked. ends are when the acquires end.
func (l keptLease) waitedThrough(acquires []*op, ends *maxTree, quiet *idle) bool {
	at := l.released.release.endT
	i := ends.first(0, at+1)
	return i >= 0 && acquires[i].invT < at && !quiet.over(acquires[i].invT, at)
}

// freedAtOnce says that a client was granted a lock that another one had given back before the lease would have ended: where the release frees nothing it has to
// wait.
func (an *analysis) freedAtOnce() bool {
	return slices.ContainsFunc(an.locks, func(k *lock) bool {
		return slices.ContainsFunc(k.releasedLeases(), func(l keptLease) bool {
			n := l.newer
			return n.process != l.released.process && n.okT < l.until
		})
	})
}

// over says that none of the intervals reaches into [from, to].
func (i *idle) over(from, to int64) bool {
	gap, ok := i.from(from)
	return ok && gap.from <= from && gap.to >= to
}

// notFreed reports them. What touched the clients while they asked for the lock, or gave it back, is blamed if the lock was freed each time that nothing did.
func (an *analysis) notFreed(list []keptLease) []Anomaly {
	var out []Anomaly
	blame := make([]blamed, len(list))
	for i, l := range list {
		blame[i] = an.suspects.unanswered(&op{process: l.released.process, invT: l.released.lo, endT: l.released.release.endT})
	}
	if slices.ContainsFunc(blame, func(b blamed) bool { return b.suspect == nil }) {
		clear(blame)
	}
	for i, l := range list {
		a := an.keptOnce(l)
		out = append(out, an.evidence.finish(a, l.released.lo, blame[i], l.released.process, l.asked.process, l.newer.process))
	}
	return out
}

// keptOnce is one of them as an anomaly.
func (an *analysis) keptOnce(l keptLease) Anomaly {
	older, newer := l.released, l.newer
	left := l.until - older.release.endT
	return Anomaly{
		Key: older.lock.name, Time: newer.okT, Grants: []string{older.id, newer.id},
		Events: an.evidence.at(l.refs()...),
		Sizes:  map[string]int64{"waited": newer.lo - l.asked.invT, "left": left, "lease": older.lease},
		Explanation: fmt.Sprintf("%s asked for the lock %s at %s, when %s had released it: the answer had come at %s, with %s of the lease left. %s was granted it at %s, when that lease would have ended; all that time %s and no fault was on",
			l.asked.process, older.lock.name, format.Instant(l.asked.invT), older.process, format.Instant(older.release.endT), dur(left), newer.process, format.Instant(newer.okT), older.lock.freeWords()),
	}
}

// neverFreed reports a lock that stays taken again and again.
func (an *analysis) neverFreed(kept []keptLease, releases int) Anomaly {
	a := an.keptOnce(kept[0])
	a.Sizes["times"], a.Sizes["releases"] = int64(len(kept)), int64(releases)
	a.Explanation += fmt.Sprintf("; so it was after %d of the %d releases that can be judged", len(kept), releases)
	var refs []int32
	for _, l := range kept[:keptAlways] {
		refs = append(refs, l.refs()...)
	}
	a.Events = an.evidence.at(refs...)
	return an.evidence.finish(a, kept[0].released.lo, blamed{}, kept[0].released.process, kept[0].asked.process, kept[0].newer.process)
}

// refs are the events that show it.
func (l keptLease) refs() []int32 {
	older, newer := l.released, l.newer
	refs := []int32{older.ok, older.release.inv, older.release.comp, l.asked.inv, newer.ok}
	if !l.enough(satAdd(older.since, older.lease) - l.asked.invT) { // what it was renewed, or entered once more, is needed
		for _, g := range older.lock.inHoldOf(older) {
			if refs = append(refs, g.promiseEvidence(g.promised-1)); g != older {
				refs = append(refs, g.ok, g.release.inv, g.release.comp)
			}
		}
	}
	if older.process != l.asked.process {
		refs = append(refs, l.first.ok)
		if first := l.first; first.release != nil && newer.lock.permits <= 1 && max(first.promised, satAdd(first.okT, first.lease)) > l.asked.invT { // or it would hold the lock
			refs = append(refs, first.release.comp)
		}
	}
	return refs
}
