package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// lostAcquire is the cause of a deadlock after an acquire of unknown outcome.
const lostAcquire = "lost-acquire"

// unknownAcquires lists the acquires of which nobody knows what came of them, by their ends: also those whose client was
// killed before last, the end of the record.
func (k *lock) unknownAcquires(last int64) []*op {
	var out []*op
	for _, o := range k.acquires {
		if o.typ == tInfo && o.comp >= 0 || o.comp < 0 && o.endT < last {
			out = append(out, o)
		}
	}
	sortBy(out, func(o *op) int64 { return o.endT })
	return out
}

// inQueue is how long a client must have waited that was refused in the end, for what it left behind to be a likely cause: one that only tries to get
// the lock leaves nothing.
const inQueue = 20e6

// refusedAcquires lists the acquires that were refused after their clients had waited for so long, or that they had cancelled, by their ends.
func (k *lock) refusedAcquires(waited int64) []*op {
	var out []*op
	for _, o := range k.acquires {
		if o.typ == tFail && !o.failed && o.comp >= 0 && (o.cancelled || o.endT-o.invT > waited) {
			out = append(out, o)
		}
	}
	sortBy(out, func(o *op) int64 { return o.endT })
	return out
}

// cancelledBefore is the latest acquire, of those that refusedAcquires lists, that ended by t, if its client had cancelled it, and whoever was granted the lock
// since then had asked before: what it left behind may keep the lock, or its place in a queue.
func (k *lock) cancelledBefore(refused []*op, t int64) *op {
	o := lastBy(refused, t)
	if o == nil || !o.cancelled {
		return nil
	}
	for _, since := range slices.Backward(k.grants[:k.grantedBy(t)]) {
		if since.okT <= o.endT {
			break
		}
		if since.inv < 0 || since.invT >= o.endT {
			return nil
		}
	}
	return o
}

// cancelled makes such an acquire the cause of a deadlock.
func (an *analysis) cancelled(a *Anomaly, o *op) blamed {
	a.Cause = "cancelled"
	a.Explanation += fmt.Sprintf("; %s had asked for it at %s and cancelled that at %s, and nobody who asked after that had been granted it by %s", o.process, format.Instant(o.invT), format.Instant(o.endT), format.Instant(a.Time))
	return an.suspects.unanswered(o)
}

// lastBy is the latest of the acquires that ended by t; nil if none did.
func lastBy(acquires []*op, t int64) *op {
	n, _ := slices.BinarySearchFunc(acquires, t, func(o *op, t int64) int { return cmp.Or(cmp.Compare(o.endT, t), -1) })
	if n == 0 {
		return nil
	}
	return acquires[n-1]
}

// acquireLost is the latest acquire of unknown outcome, of those that unknownAcquires lists, that ended between g, which
// promised a lease, and t: it may have taken the lock after that lease, and what it took has not ended. If g promised no
// lease, it is g that need not have ended.
func (g *grant) acquireLost(unknown []*op, t int64) *op {
	lost := lastBy(unknown, t)
	if g.lease == 0 || lost == nil || lost.endT <= g.okT {
		return nil
	}
	return lost
}

// queuedLost is the latest acquire of unknown outcome that ended before t, if g, the last grant, was released, and whoever was
// granted the lock since that acquire had asked before it ended: they may have stood before it in a queue in which it still
// has its place.
func (g *grant) queuedLost(unknown []*op, t int64) *op {
	if lost := lastBy(unknown, t); lost != nil && g.mayKeepPlace(lost, t) {
		return lost
	}
	return nil
}

// givenUpBehind is the latest acquire, of those that refusedAcquires lists, that ended by t, if it was asked for before g was
// released and may have kept its place in a queue as in queuedLost.
func (g *grant) givenUpBehind(refused []*op, t int64) *op {
	last := lastBy(refused, t)
	if last == nil || !g.mayKeepPlace(last, t) || g.release.endT <= last.invT {
		return nil
	}
	return last
}

// mayKeepPlace says that g, the last grant by t, was released, and whoever was granted the lock since an acquire ended had
// asked before that.
func (g *grant) mayKeepPlace(o *op, t int64) bool {
	if !g.releasedBy(t) {
		return false
	}
	for _, since := range slices.Backward(g.lock.grants[:g.n+1]) {
		if since.okT <= o.endT {
			break
		}
		if since.inv < 0 || since.invT >= o.endT {
			return false
		}
	}
	return true
}

// waiterLost is a client's acquire that was under way at t, when the lock was free, and the last fault by which its messages were lost or late
// until then: it may have asked again, and wait for what its first request left behind, as others do. nil for none.
func (an *analysis) waiterLost(k *lock, t int64) (*op, *fault) {
	n, _ := slices.BinarySearchFunc(k.acquires, t, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for _, o := range slices.Backward(k.acquires[max(0, n-maxTouched):n]) {
		if o.endT <= t {
			continue
		}
		for _, f := range an.faults.byNode[o.process].latest(nil, o.invT, t) {
			if f.onLinks() && f.begin >= o.invT {
				return o, f
			}
		}
	}
	return nil, nil
}

// releasedBy says that the release of g had been confirmed by t.
func (g *grant) releasedBy(t int64) bool {
	return g.release != nil && g.release.typ == tOK && g.release.endT <= t
}

// releaseLost says that the service may not have carried out the release of g, however often its
// client asked, and has not said that g was over before.
func (g *grant) releaseLost() bool {
	r := g.release
	return r != nil && !r.downgrades && r.inv >= 0 && g.lost < 0 &&
		!slices.ContainsFunc(g.lock.released, func(o *op) bool { return o.grant == g && o.typ == tOK }) &&
		!slices.ContainsFunc(g.lock.denials, func(s *statement) bool { return s.g == g })
}

// lostBy is the cause of a deadlock after the lock refused a request of g's, and how it came about. A release that names a
// revision is refused after a renewal that changed that one, unknown to its client.
func (g *grant) lostBy(s *statement) (cause, how string) {
	if o := g.unsureBefore(s.invT); s.f == fRelease && o != nil {
		return "lost-release", fmt.Sprintf(", whose renewal at %s has no known outcome, and whose release the lock refused at %s: that may have named what the renewal had changed", format.Instant(o.invT), format.Instant(s.endT))
	}
	return "lost-hold", fmt.Sprintf("; the lock answered %s at %s that it no longer holds the lock, and yet another client was not granted it within the bound", g.process, format.Instant(s.endT))
}

// unsureBefore is the latest renewal of g's hold that was asked for before t and has no known outcome; nil for none.
func (g *grant) unsureBefore(t int64) *op {
	hold := g.ofHold()
	if hold.unsure == nil {
		return nil
	}
	for _, o := range slices.Backward(*hold.unsure) {
		if o.invT < t {
			return o
		}
	}
	return nil
}

// denied is the lock's last answer to a release or a renewal of g, by t, that g is over; nil for none. What a library says
// by itself is none.
func (g *grant) denied(t int64) *statement {
	for _, s := range slices.Backward(g.lock.denials) {
		if s.g == g && s.endT <= t && (s.f == fRelease || s.f == fRenew) {
			return s
		}
	}
	return nil
}

// cameTo says how an operation ended that was not answered with success.
func (o *op) cameTo() string {
	if o.typ == tFail {
		return "failed"
	}
	return "has no known outcome"
}

// keptOutBehind says of a client that waits to share the lock that what another one left behind which gave up may keep it out, and nobody who
// wants the lock alone: a writer's place in a queue, by which it goes before readers.
func (o *op) keptOutBehind(cause string) bool {
	return o.shares && (cause == "cancelled" || cause == "given-up")
}

// lostWakeUp is the cause of a deadlock of a lock that was free: another client had only to ask for it.
const lostWakeUp = "lost-wake-up"

// grantedBeside is the first grant after t, the end of the bound, if its client had asked after that and was granted the lock at once, while the other one
// still waited by one request, with no fault that may have freed it. One that shares the lock may have been let in beside others. nil for none.
func (k *lock) grantedBeside(w *wait, t int64, faulty []interval) *grant {
	i := k.grantedBy(t)
	if i == len(k.grants) {
		return nil
	}
	g, asked := k.grants[i], w.ops[0]
	switch {
	case g.inv < 0, g.invT < t, g.okT-g.invT > prompt, asked.endT <= g.okT, g.mode == shared:
		return nil
	}
	if i := endedBy(faulty, t); i < len(faulty) && faulty[i].from <= g.okT {
		return nil
	}
	return g
}

// ownAgain is the cause of a deadlock of a lock that is granted at once to the client that had it last, and to no other: that one's release may not
// have freed it.
const ownAgain = "own-again"

// mayBeStillOwn says that the client of a grant had had the lock last, with nothing that ends by itself: to the lock its connection, or its session, may be the holder
// still, and ask for what it has.
func (g *grant) mayBeStillOwn() bool {
	if g.n == 0 || g.lock.permits > 1 {
		return false
	}
	last := g.lock.grants[g.n-1]
	return last.process == g.process && (last.promised == 0 || last.watchdog)
}

// ended lists the events by which a client was granted the lock, and gave it back or learnt of its loss.
func (g *grant) ended() []int32 {
	out := []int32{g.ok, g.lost}
	if r := g.release; r != nil && r.comp >= 0 {
		out = append(out, r.comp)
	} else if r != nil {
		out = append(out, r.inv)
	}
	return out
}

// crashed is the kill, if it was one, that ended g's hold.
func crashed(an *analysis, g *grant) *fault {
	if g.release != nil || g.lost >= 0 {
		return nil
	}
	list := an.faults.kills[g.process]
	i, _ := slices.BinarySearchFunc(list, max(g.okT, g.believedEnd), func(k kill, t int64) int { return cmp.Compare(k.from, t) })
	for ; i < len(list) && list[i].from == g.believedEnd; i++ {
		if list[i].fault.confirmed {
			return list[i].fault
		}
	}
	return nil
}
