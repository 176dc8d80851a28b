package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
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
	broken, quiet := joined(disturbed(an), 0), joined(an.unquiet(), 0)
	known := newKnownGrants(an.locks)
	hold := func(g *grant) interval { return interval{known.given(g), an.mayLast(g)} }
	var out []Anomaly
	for _, k := range an.locks {
		released := an.releasedLeases(k)
		if len(released) == 0 {
			continue
		}
		full := joined(k.full(busyBy(an, k, joined(disturbed(an), an.opt.Bound), hold)), 0)
		kept, inTimes := an.keptOf(k, released, known, &idle{[2][]interval{quiet}, an.last}, &idle{[2][]interval{quiet, full}, an.last})
		lost := newLostRequests(k, an)
		calm := &idle{[2][]interval{broken}, an.last}
		var long []keptLease
		for i := range kept {
			kept[i].starting = !calm.over(kept[i].released.release.invT, kept[i].newer.okT)
			l := kept[i]
			if l.long = true; l.enough(l.left()) && l.at-l.asked.invT >= leastKept && !lost.mayHold(l.asked.invT, l.newer.okT) {
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

// unquiet is when something was broken, by begin. A client that was killed disturbs others when it dies, and not until it runs again.
func (an *analysis) unquiet() []interval {
	out := an.disturbedBy(func(f *fault) bool { return !f.killsClients() })
	for i := range an.faults.list {
		if f := &an.faults.list[i]; f.killsClients() && (f.ended || f.confirmed) {
			out = append(out, interval{f.begin, min(f.end, satAdd(f.begin, leastKeptOften))})
		}
	}
	sortBy(out, func(s interval) int64 { return s.from })
	return out
}

// keptOf are the leases of a lock that went on after their release, and inTimes is how many did not: another client was granted the lock before they would have
// ended. No fault is on when it is quiet, and when it is free the lock can be granted to another client, too.
func (an *analysis) keptOf(k *lock, released []keptLease, known knownGrants, quiet, free *idle) (kept []keptLease, inTimes int) {
	refused, acquires := k.refusedAcquires(patience), k.allAcquires()
	undisturbed := idle{[2][]interval{joined(an.disturbedBy((*fault).concernsOthers), 0)}, an.last}
	var ends maxTree
	ends.build(len(acquires), func(i int) int64 { return acquires[i].endT })
	for l := range inTime(an.limit, released) {
		gaveUp := lastBy(refused, l.newer.okT)
		switch {
		case l.until > l.newer.okT && undisturbed.over(l.released.release.invT, l.newer.okT):
			inTimes++ // whatever befell clients
			continue
		case gaveUp != nil && gaveUp.endT > l.released.okT: // what it left behind may keep the lock
			continue
		case !quiet.over(l.released.release.invT, l.newer.okT):
			continue
		case l.waitedThrough(acquires, &ends, quiet): // it may have been granted the lock, and not been told
			continue
		case l.until > l.newer.okT:
			continue
		}
		if l.asked = l.askedSince(acquires, known.first); l.asked == nil {
			continue
		}
		l.first, l.fastest = known.first[l.asked.process], known.fastest[l.asked.process]
		l.at = l.grantedAt(known)
		deadlock := l.at-l.asked.invT > an.opt.Bound
		if l.asked.invT < l.at && l.enough(l.left()) && l.atItsEnd() && !deadlock && free.over(l.asked.invT, l.at) {
			kept = append(kept, l)
		}
	}
	return kept, inTimes
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

// freedAtOnce says that a client was granted a lock that another one had given back before the lease would have ended: where the release frees nothing it has to
// wait.
func (an *analysis) freedAtOnce() bool {
	return slices.ContainsFunc(an.locks, func(k *lock) bool {
		return slices.ContainsFunc(an.releasedLeases(k), func(l keptLease) bool {
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
	crashes := make([]*grant, len(list))
	for i, l := range list {
		crashes[i] = an.sharedWithCrashed(l)
	}
	if slices.Contains(crashes, nil) { // the release by itself frees nothing
		clear(crashes)
	}
	for i, l := range list {
		a := an.keptOnce(l)
		if g := crashes[i]; g != nil {
			f := crashed(an, g)
			a.Cause = "crashed-holder"
			a.Explanation += fmt.Sprintf("; %s had shared the lock, was killed at %s, and its own lease was over", g.process, format.Instant(f.begin))
			blame[i] = blamed{suspect: &part{fault: f, side: verdict.OnClient}}
		}
		out = append(out, an.evidence.finish(a, l.released.lo, blame[i], l.released.process, l.asked.process, l.newer.process))
	}
	return out
}

// sharedWithCrashed is a grant whose client was killed while its lease and the one that was given back ran both: what renewed that may have renewed
// this one too. It is nil if there is none.
func (an *analysis) sharedWithCrashed(l keptLease) *grant {
	k := l.newer.lock
	if k.permits <= 1 && l.released.mode != shared {
		return nil
	}
	for _, g := range slices.Backward(k.grants[max(0, l.newer.n-mostLeft):l.newer.n]) {
		if crashed(an, g) != nil && an.mayLast(g) > l.released.lo {
			return g
		}
	}
	return nil
}

// keptOnce is one of them as an anomaly.
func (an *analysis) keptOnce(l keptLease) Anomaly {
	older, newer := l.released, l.newer
	left := l.until - older.release.endT
	return Anomaly{
		Key: older.lock.name, Time: newer.okT, Grants: []string{older.id, newer.id},
		Events: an.evidence.at(l.refs()...),
		Sizes:  map[string]int64{"waited": l.at - l.asked.invT, "left": left, "lease": l.lease},
		Explanation: fmt.Sprintf("%s asked for the lock %s at %s, when %s had released it: the answer had come at %s, %s; all that time %s and no fault was on%s",
			l.asked.process, older.lock.name, format.Instant(l.asked.invT), older.process, format.Instant(older.release.endT), l.endWords(), older.lock.freeWords(), l.startingWords()),
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
