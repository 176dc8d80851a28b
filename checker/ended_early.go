package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// endedEarly is the cause of a grant that came while the older lease had time left, and no client but those that wait had asked for anything for a while: the
// lease ended by itself, or the client that waited took the lock over before the lease's end.
const endedEarly = "ended-early"

// requestTimes are when clients asked something of locks, or were answered. They are of all locks: if a lock confuses its keys, a
// request for one ends another's lease.
type requestTimes struct {
	events []int64 // in order
	// sent is when each request was sent, in order, and pending until when it, or one before it, may be carried out. An acquire that
	// waits is none of them, if its outcome is known.
	sent, pending []int64
}

// newRequestTimes lists those of a whole history.
func newRequestTimes(locks []*lock, faults *faultLog) *requestTimes {
	t := &requestTimes{}
	var carried []interval
	add := func(sent, answered int64, f verb) {
		t.events = append(t.events, sent, answered)
		if f != fAcquire {
			carried = append(carried, interval{sent, answered})
		}
	}
	addUnknown := func(o *op) {
		t.events = append(t.events, o.invT, o.endT)
		carried = append(carried, interval{o.invT, faults.carriedOutBy(o)})
	}
	for _, k := range locks {
		for _, o := range slices.Concat(k.acquires, k.released) {
			if o.typ == tInfo || o.comp < 0 {
				addUnknown(o)
			} else {
				add(o.invT, o.endT, o.f)
			}
		}
		for _, s := range k.denials {
			add(s.invT, s.endT, s.f)
		}
		for _, g := range k.grants {
			t.events = append(t.events, g.okT)
			if g.inv >= 0 {
				t.events = append(t.events, g.invT)
			}
			for _, r := range g.renewals() {
				if r.inv >= 0 { // else its client's library asked, see quietBefore
					add(r.invT, r.okT, fRenew)
				}
			}
			if g.first == nil && g.unsure != nil { // entries share their hold's
				for _, o := range *g.unsure {
					addUnknown(o)
				}
			}
		}
	}
	slices.Sort(t.events)
	slices.SortFunc(carried, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	latest := -never
	for _, c := range carried {
		latest = max(latest, c.to)
		t.sent, t.pending = append(t.sent, c.from), append(t.pending, latest)
	}
	return t
}

// lastBefore is when a client last asked something before t, or was answered. It is false if a request may have been carried out since.
func (t *requestTimes) lastBefore(at int64) (last int64, ok bool) {
	n, _ := slices.BinarySearch(t.events, at)
	if n == 0 {
		return 0, false
	}
	last = t.events[n-1]
	i, _ := slices.BinarySearch(t.sent, at)
	return last, i == 0 || t.pending[i-1] <= last
}

// quietBefore is for how long no client had asked for anything before the newer client was granted the lock, for which it had waited. There is no such time if
// it is less than a quarter of the older lease, if that was not promised until then, or if a fault was on since it began, or another grant was given back before the newer client asked; nor of semaphores and reentrant locks, or if
// several clients shared the lock, of which more than one lease may have ended.
func (l *faultLog) quietBefore(e earlyPair, requests func() *requestTimes) (quiet int64, ok bool) {
	older, newer := e.older[0], e.newer
	if e.renewed || e.covered || newer.inv < 0 || newer.watchdog || newer.lock.permits > 0 || newer.lock.nested || len(e.older) > 1 || !older.promisedBeyond(e.from) {
		return 0, false
	}
	// One that asked after a release which freed the lock may have been slow. One that waited then would have been let in at once.
	freeing := func(o *op) bool {
		return o.grant != older && o.typ != tFail && o.endT > older.lo && o.invT < newer.invT
	}
	if slices.ContainsFunc(newer.lock.releasedBefore(newer.okT), freeing) {
		return 0, false
	}
	last, ok := requests().lastBefore(newer.okT)
	quiet = newer.lo - max(last, older.okT)
	return quiet, ok && quiet >= max(1, older.lease/4) && !l.anySince(-never, newer.okT, func(f *fault) bool {
		return f.overlaps(interval{older.lo, newer.okT})
	})
}

// promisedBeyond says that the lease, as it was promised by then, runs at t.
func (g *grant) promisedBeyond(t int64) bool {
	r := g.renewed.furthest(t)
	return g.lease > 0 && g.grantedBeyond(t) || r != nil && r.until > t
}

// quietWords say for how long nothing had been asked.
func (e *earlyPair) quietWords(quiet int64) string {
	return fmt.Sprintf("; for %s before that no request was sent, answered or under way but those of clients that waited, as %s did: %s's lease ended before its time, or %s took the lock over",
		dur(quiet), e.newer.process, e.older[0].process, e.newer.process)
}

// endedEarly says so of such an early grant.
func (c *earlyCase) endedEarly() (reason, bool) {
	quiet, ok := c.an.faults.quietBefore(c.earlyPair, c.requests)
	return reason{cause: endedEarly, words: c.quietWords(quiet), refs: []int32{c.newer.inv}}, ok
}

// firstEarly is the first grant that came while an older lease had time left, why, and the events that show it. A lock that was given away once
// is free to be taken again: what comes while the same lease has time left tells nothing of its own.
type firstEarly struct {
	newer *grant
	cause string
	refs  []int32
}

func (f firstEarly) words() string {
	return fmt.Sprintf("; that lease had ended before: %s had been granted the lock at %s", f.newer.process, format.Instant(f.newer.okT))
}

// evidence lists the events that show it, and that the first newer grant was over at a time.
func (f firstEarly) evidence(at int64) []int32 {
	g, refs := f.newer, slices.Clone(f.refs)
	switch r := g.release; {
	case g.promised <= at:
	case r != nil && r.invT <= min(at, g.lostT):
		refs = append(refs, r.inv)
	case g.lostT <= at:
		refs = append(refs, g.lost)
	}
	return refs
}

// endedBefore says of a later grant while the same lease had time left that it had ended early.
func (c *earlyCase) endedBefore() (reason, bool) {
	if !c.gone || c.before.cause != endedEarly || c.before.newer.aliveAt(c.from) {
		return reason{}, false
	}
	return reason{cause: endedEarly, words: c.before.words(), refs: c.before.evidence(c.from)}, true
}
