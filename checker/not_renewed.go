package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// notRenewed is the cause of what a client did after a lease that its library let end: until then it had renewed
// leases by itself, and nothing kept it from renewing this one for long.
const notRenewed = "not-renewed"

// renewHabit is how a library renews the leases of one lock for one client by itself.
type renewHabit struct {
	gaps    int   // between two renewals of a grant, or from its answer to the first
	longest int64 // of these
	// events are those that show the first ones, enoughGaps of them.
	events []int32
}

// enoughGaps is after how many gaps a library is known to renew by itself: one renewal may be a part of the grant.
const enoughGaps = 3

// renewHabits are how libraries renew, by lock and client.
type renewHabits map[renewerOf]renewHabit

type renewerOf struct {
	lock    *lock
	process string
}

func renewHabitsOf(locks []*lock) renewHabits {
	all := renewHabits{}
	for _, k := range locks {
		for _, g := range k.grants {
			if g.renewed != nil {
				w := renewerOf{k, g.process}
				all[w] = all[w].with(g)
			}
		}
	}
	return all
}

// with adds what the renewals of a grant show.
func (h renewHabit) with(g *grant) renewHabit {
	last, at := g.okT, g.ok
	for _, r := range g.renewed.list {
		if r.inv >= 0 {
			continue // its user asked for it
		}
		if h.gaps++; h.gaps <= enoughGaps {
			h.events = append(h.events, at, r.ok)
		}
		h.longest = max(h.longest, r.okT-last)
		last, at = r.okT, r.ok
	}
	return h
}

// causeOfOutlived is why the lease of a grant was over at t, when its client used it. A client that renews by itself and
// that nothing disturbed since the last promise did not outlive its lease: its library let it end. One whose library
// promises to report a loss, and did not, could not know.
func (an *analysis) causeOfOutlived(g *grant, t int64) string {
	switch {
	case g.renewed.unsaidBy(t): // nobody knows when it ended
	case g.promised <= t && an.letEnd(g, t):
		return notRenewed
	case an.unreported(g, t):
		return noNotice
	}
	return "lease-outlived"
}

// letEnd says that a grant's lease ended because the client's library did not renew it, as it promised or does
// otherwise, and that no fault can have kept it from that until t, when another client had the lock, but a short one.
func (an *analysis) letEnd(g *grant, t int64) bool {
	h := an.renews[renewerOf{g.lock, g.process}]
	from, answered := lastPromise(g)
	switch {
	case !g.watchdog && h.gaps < enoughGaps, 2*(g.promised-from) < 3*h.longest:
		return false // it could not have renewed yet
	case 2*(g.promised-answered) < g.promised-from:
		return false // most of the lease was over when it learnt of it
	case g.lostT <= t, g.release != nil && g.release.invT <= g.promised:
		return false // it had no reason to
	}
	return !an.faults.anySince(from, t, func(f *fault) bool {
		return f.mayStop(g.process) && !f.short(g, from, h)
	})
}

// short says that a fault on the client or its links was over early in a lease that began at from. A library whose renewal
// it disturbed had most of the lease left to try again. What was sent during the fault may be sent anew only when as much
// time again is over, since TCP doubles its pauses. If the fault closed the connection, the library knew at once that a renewal was lost, and
// needs no more time than until the next one, and for a new connection.
func (f *fault) short(g *grant, from int64, h renewHabit) bool {
	if !slices.Contains(f.nodes, g.process) || !f.onLinks() && baseName(f.name) != "pause" || !f.ended {
		return false
	}
	again := g.promised - satAdd(f.end, f.end-f.begin)
	left := g.promised - f.end
	return 3*again >= 2*(g.promised-from) && 2*again >= 3*h.longest ||
		f.resets() && f.loud && h.gaps > 0 && left >= satAdd(h.longest, max(h.longest/4, reconnect))
}

// reconnect is how long a library may take to make a connection again, with its own pause before that.
const reconnect = 250e6

// isLoud says of a fault's steps that the client at a connection which they end has learnt so by then.
func isLoud(steps string) bool {
	return steps != "" && !strings.Contains(steps, "silently") && !strings.Contains(steps, "half-open")
}

// tripped is what is blamed for a lease that the client's library let end: a short fault during it, which it did not
// survive.
func (s *suspects) tripped(g *grant) (b blamed) {
	from, _ := lastPromise(g)
	within := interval{from, g.promised}
	for _, p := range s.faults.parts(&stake{service: within, parties: []party{{g.process, within}}}) {
		if p.short(g, from, s.habits[renewerOf{g.lock, g.process}]) {
			b.parts = append(b.parts, p)
		}
	}
	for i, p := range b.parts {
		if b.suspect == nil || p.end > b.suspect.end {
			b.suspect = &b.parts[i]
		}
	}
	return b
}

// unrenewed says that the older one of two grants had lasted for as long as its client had asked for, and that its
// library had promised to renew it: it was not the service that gave the lock away too soon.
func (n *holdRules) unrenewed(d doublePair) bool {
	g := d.older[0]
	return len(d.older) == 1 && g.watchdog && g.hasNoLease() && n.ttl > 0 && d.newer.okT >= satAdd(g.okT, int64(spent*float64(n.ttl)))
}

// lastPromise is since when the lease runs that ended last, and when the client learnt of it.
func lastPromise(g *grant) (from, answered int64) {
	from = max(g.since, g.lo)
	if g.renewed != nil {
		for _, r := range slices.Backward(g.renewed.list) {
			if r.until == g.promised {
				return max(from, r.heldUntil), r.okT
			}
		}
	}
	return from, g.okT
}

// mostLooked is how many faults are looked at, the latest first: a history may have very many.
const mostLooked = 1024

// mayStop says that it may keep a process, or its library, from what it does at the service.
func (f *fault) mayStop(process string) bool {
	return f.concernsOthers() || f.hits(process) && !f.onResource()
}

// anySince says that some fault of a sort may have been on at some time in [from, to], confirmed or not.
func (l *faultLog) anySince(from, to int64, of func(*fault) bool) bool {
	n, _ := slices.BinarySearchFunc(l.list, to, func(f fault, t int64) int { return cmp.Or(cmp.Compare(f.begin, t), -1) })
	for i := n - 1; i >= 0; i-- {
		f := &l.list[i]
		if n-i > mostLooked || f.end >= from && of(f) {
			return true
		}
	}
	return false
}

// notRenewedEvents are the events that show the habit.
func (an *analysis) notRenewedEvents(g *grant) []int32 {
	return an.renews[renewerOf{g.lock, g.process}].events
}

// notRenewedWords tells what the library did until then.
func (an *analysis) notRenewedWords(g *grant) string {
	h := an.renews[renewerOf{g.lock, g.process}]
	undisturbed := "and no fault kept it from that"
	if b := an.suspects.tripped(g); b.suspect != nil {
		undisturbed = fmt.Sprintf("though the last fault on %s was over %s before the lease ended", g.process, dur(g.promised-b.suspect.end))
	}
	if h.gaps < enoughGaps {
		return "; its library had promised to renew the lease by itself, did not, " + undisturbed
	}
	return fmt.Sprintf("; its library renews leases by itself (%s times, at most %s after the last), did not renew this one, %s",
		format.Count(h.gaps), dur(h.longest), undisturbed)
}

// libraryWords tells what a client's library did not do, if that is the cause.
func (an *analysis) libraryWords(cause string, g *grant) string {
	switch cause {
	case notRenewed:
		return an.notRenewedWords(g)
	case noNotice:
		return noNoticeWords
	}
	return ""
}
