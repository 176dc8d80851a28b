package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

func init() { finders["deadlock"] = findDeadlocks }

// patience is how long a client goes on for at least that waits, and asks again without a break.
const patience = 100e6

// pollGap is the gap between two acquires of one client that still counts as waiting for a lock that is free: each of them could have been granted it. A
// client that asks less often than ten times within the bound shows nothing.
func pollGap(bound int64) int64 { return max(patience, bound/10) }

// findDeadlocks finds intervals longer than the bound in which a lock was wanted by
// some and rightfully held by nobody, nothing was broken, and no grant came. Of a semaphore it
// is enough that a permit was free. Whether
// the service still keeps a dead holder's key it cannot know, and does not say.
//
// Held, for this purpose, is all that can be read in the lock's favour: from
// the earliest instant at which a grant can have been given until its release was
// answered, its lease had run out however late it began, or its client had
// stopped believing; and as long as a request of unknown outcome may have left a
// lease behind. Broken is the time of any fault, confirmed or not, and
// for as long as a cut network may be felt.
//
// A deadlock lasts until the lock is granted again: it is one anomaly, whatever faults come
// and go meanwhile.
func findDeadlocks(an *analysis) []Anomaly {
	broken, never := joined(disturbed(an), an.opt.Bound), neverWorked(an)
	touching := an.brokenFor()
	faulty := joined(an.disturbedBy(func(f *fault) bool { return f.name != Stall }), 0) // a machine that stands still frees no lock
	var out []Anomaly
	for _, k := range an.locks {
		unknown, refused := k.unknownAcquires(an.last), k.refusedAcquires(inQueue)
		asked := newRequests(k, touching, an.opt.Bound, pollGap(an.opt.Bound))
		for w := range inTime(an.limit, waitsInVain(an, k, broken, busy(an, k, broken), asked)) {
			a := deadlock(an, k, w, unknown, refused, faulty)
			if never {
				a.Cause = "never-granted"
			}
			out = append(out, a)
		}
	}
	return out
}

// waitsInVain lists of each deadlock of a lock the wait that began first; something was broken
// in the intervals, see joined, and the lock was not free in busy.
func waitsInVain(an *analysis, k *lock, broken, busy []interval, asked *requests) []*wait {
	if asked.next() == nil {
		return nil
	}
	free := idle{[2][]interval{broken, joined(k.full(busy), an.opt.Bound)}, an.last}
	var out []*wait
	for at := int64(0); ; {
		gap, ok := free.from(at)
		if !ok || an.limit.passed() {
			return out
		}
		asked.dropUntil(gap.from)
		first := asked.next()
		switch {
		case first == nil:
			return out
		case first.invT >= gap.to: // nobody asked meanwhile
			at = first.invT
			continue
		case gap.to-gap.from <= an.opt.Bound:
			at = gap.to
			continue
		}
		at = gap.to
		w := asked.longWait(gap, an.opt.Bound)
		if w == nil {
			continue
		}
		out = append(out, w)
		i := k.grantedBy(w.from)
		if i == len(k.grants) {
			return out
		}
		at = max(at, k.grants[i].okT)
	}
}

// grantedBy is how many grants had been given by t.
func (k *lock) grantedBy(t int64) int { return answeredBy(k.grants, t) }

// answeredBy is how many of the grants, which are in the order of their answers, had been given by t.
func answeredBy(grants []*grant, t int64) int {
	n, _ := slices.BinarySearchFunc(grants, t, func(g *grant, t int64) int { return cmp.Or(cmp.Compare(g.okT, t), -1) })
	return n
}

// allAcquires lists also those that were granted, by invoke.
func (k *lock) allAcquires() []*op {
	all := append(make([]*op, 0, len(k.acquires)+len(k.grants)), k.acquires...)
	for _, g := range k.grants {
		if g.inv >= 0 {
			all = append(all, &op{f: fAcquire, typ: tOK, process: g.process, lock: k, grant: g, invT: g.invT, endT: g.okT, inv: g.inv, comp: g.ok, shares: g.mode == shared})
		}
	}
	slices.SortStableFunc(all, func(a, b *op) int { return cmp.Compare(a.inv, b.inv) })
	return all
}

// disturbed returns when something was broken, by begin.
func disturbed(an *analysis) []interval { return an.disturbedBy(func(*fault) bool { return true }) }

func (an *analysis) disturbedBy(counts func(*fault) bool) []interval {
	out := slices.Clone(an.faults.maybeFelt)
	for i := range an.faults.list {
		f := &an.faults.list[i]
		if (f.ended || f.confirmed) && !f.onResource() && counts(f) { // else it was never observed at all
			out = append(out, interval{f.begin, f.end})
		}
	}
	sortBy(out, func(s interval) int64 { return s.from })
	return out
}

// brokenFor is when something was broken that can have lost a client's messages, or stopped it: that another client was
// killed has not. See joined.
type brokenFor struct {
	all []interval            // whoever the client is
	own map[string][]interval // by client: what befell it alone
}

func (an *analysis) brokenFor() brokenFor {
	b := brokenFor{joined(an.disturbedBy((*fault).concernsOthers), an.opt.Bound), map[string][]interval{}}
	for i := range an.faults.list {
		f := &an.faults.list[i]
		if f.concernsOthers() || f.onResource() || !f.ended && !f.confirmed {
			continue
		}
		for _, node := range f.nodes {
			b.own[node] = append(b.own[node], interval{f.begin, f.end})
		}
	}
	for node, list := range b.own {
		sortBy(list, func(s interval) int64 { return s.from })
		b.own[node] = joined(list, an.opt.Bound)
	}
	return b
}

// busy returns when the lock was not free, by begin. broken is when something was broken, joined. Requests that
// were given up meanwhile may be carried out when all is well again, and each may be granted the lock
// after the one before it.
func busy(an *analysis, k *lock, broken []interval) []interval {
	return busyBy(an, k, broken, (*grant).mayHold)
}

// busyBy is busy where hold says when a grant can have had the lock.
func busyBy(an *analysis, k *lock, broken []interval, hold func(*grant) interval) []interval {
	busy := make([]interval, 0, len(k.grants)+len(k.acquires))
	for i, s := range k.held(hold) {
		busy = append(busy, an.restarted(k.grants[i], s))
	}
	type lateGrants struct {
		until int64 // they may have leases
		n     int64
	}
	late := map[int]lateGrants{} // by broken interval, of the requests given up in it
	for _, o := range k.acquires {
		unknown := o.typ == tInfo && o.comp >= 0
		killed := o.comp < 0 && o.endT < an.last // its client was, while it waited
		if !unknown && !killed {
			continue
		}
		until := satAdd(o.endT, an.maxLease)
		if an.maxLease == 0 {
			until = never // a hold without a lease need not end
		}
		busy = append(busy, interval{o.endT, until})
		if i := endedBy(broken, o.endT-1); i < len(broken) && broken[i].from <= o.endT {
			late[i] = lateGrants{satAdd(max(late[i].until, broken[i].to), an.maxLease), late[i].n + 1}
		}
	}
	for i, l := range late {
		for range max(1, min(k.permits, l.n)) { // each takes a permit
			busy = append(busy, interval{broken[i].to, l.until})
		}
	}
	sortBy(busy, func(s interval) int64 { return s.from })
	return busy
}

// held is when clients can have had the lock that were granted it.
func (k *lock) held(hold func(*grant) interval) []interval {
	out := make([]interval, 0, len(k.grants))
	for _, g := range k.grants {
		out = append(out, hold(g))
	}
	return out
}

// waitEvidence lists the events that show a wait of more than bound: no more of it is
// needed than that, and how the last acquire of it ended does not matter.
func waitEvidence(ops []*op, from, bound int64) []int32 {
	var refs []int32
	for _, o := range ops {
		refs = append(refs, o.inv)
		if o.endT-from > bound {
			break
		}
		refs = append(refs, o.comp)
	}
	return refs
}

// neverWorked says that the record has no grant of any lock, and no fault that could be the reason: the
// lock may as well be set up wrongly where it was tested.
func neverWorked(an *analysis) bool {
	granted := slices.ContainsFunc(an.locks, func(k *lock) bool { return len(k.grants) > 0 })
	return !granted && !slices.ContainsFunc(an.faults.list, func(f fault) bool { return f.name != Stall })
}

// deadlock reports a client that waited for longer than the bound for a lock that was free. faulty is when a fault was on.
func deadlock(an *analysis, k *lock, best *wait, unknown, refused []*op, faulty []interval) Anomaly {
	process := best.ops[0].process
	a := Anomaly{
		Key: k.name, Time: best.from + an.opt.Bound,
		Events: an.evidence.at(waitEvidence(best.ops, best.from, an.opt.Bound)...),
		Sizes:  map[string]int64{"waited": best.to - best.from, "bound": an.opt.Bound},
		Explanation: fmt.Sprintf("%s waited for the lock %s from %s to %s; all that time %s and no fault was on, and nobody was granted it within the bound of %s",
			process, k.name, format.Instant(best.from), format.Instant(best.to), k.freeWords(), dur(an.opt.Bound)),
	}
	// Before the interval lies what left the lock in this state.
	var why blamed
	n := k.grantedBy(best.from)
	if n == 0 {
		if lost := lastBy(unknown, best.from); lost != nil {
			a.Cause = lostAcquire
			a.Explanation += fmt.Sprintf("; nobody had been granted it, and the acquire of %s at %s has no known outcome, and may have taken it", lost.process, format.Instant(lost.invT))
			why = an.suspects.unanswered(lost)
		} else if o := k.cancelledBefore(refused, best.from); o != nil {
			why = an.cancelled(&a, o)
		}
	} else {
		g := leftBehind(k, k.grants[:n], best.from)
		a.Explanation += fmt.Sprintf("; %s was %s at %s", k.lastWords(g), g.process, format.Instant(g.okT))
		if f := crashed(an, g); f != nil {
			a.Cause = "crashed-holder"
			if g.lease > 0 {
				a.Sizes["lease"] = g.lease
			}
			if n := len(g.renewals()); n > 0 {
				a.Sizes["renewals"] = int64(n)
				a.Explanation += fmt.Sprintf(", whose lease was renewed %s, and", of(n, "time"))
			} else {
				a.Explanation += ","
			}
			a.Explanation += fmt.Sprintf(" which was killed at %s without having released it", format.Instant(f.begin))
			why = blamed{suspect: &part{fault: f, side: verdict.OnClient}}
		} else {
			lost, queued := g.acquireLost(unknown, best.from), g.queuedLost(unknown, best.from)
			why = an.suspects.leftBehind(g, best.from)
			switch {
			case lost != nil:
				a.Cause = lostAcquire
				a.Explanation += fmt.Sprintf("; the acquire of %s at %s has no known outcome, and may have taken it", lost.process, format.Instant(lost.invT))
				if why.suspect == nil {
					why = an.suspects.unanswered(lost)
				}
			case queued != nil:
				a.Cause = lostAcquire
				a.Explanation += fmt.Sprintf(", and released it; the acquire of %s at %s has no known outcome, and may have kept its place in the queue", queued.process, format.Instant(queued.invT))
				if b := an.suspects.unanswered(queued); b.suspect != nil {
					why = b
				}
			case g.releaseLost():
				a.Cause = "lost-release"
				a.Explanation += fmt.Sprintf(", whose release at %s %s", format.Instant(g.release.invT), g.release.cameTo())
				if why.suspect == nil {
					why = an.suspects.unanswered(g.release)
				}
			}
		}
		clock := keptByClock(an, g, best)
		byService := clock != nil && clock.clients == 0 && g.lease > 0
		if s := g.denied(a.Time); s != nil && a.Cause == "" && !byService {
			cause, how := g.lostBy(s)
			a.Cause = cause
			a.Explanation += how
		}
		if o := k.cancelledBefore(refused, best.from); o != nil && g.releasedBy(best.from) && a.Cause == "" && !byService {
			why = an.cancelled(&a, o)
		}
		if o := g.givenUpBehind(refused, best.from); o != nil && a.Cause == "" && !byService {
			a.Cause = "given-up"
			a.Explanation += fmt.Sprintf(", and released it; %s had waited for it from %s and given up at %s, and nobody who asked after that had been granted it by %s",
				o.process, format.Instant(o.invT), format.Instant(o.endT), format.Instant(a.Time))
		}
		switch {
		case byService:
			a.Explanation += clock.setBackWords() + "lease ran"
			if why.suspect != nil && len(why.parts) == 0 {
				why.parts = append(why.parts, *why.suspect)
			}
			why.suspect = &part{fault: clock, side: verdict.OnServer}
		case clock == nil || a.Cause != "crashed-holder":
		case clock.clients > 0:
			a.Sizes["ahead"] = clock.ahead()
			a.Explanation += fmt.Sprintf("; the clock of %s was ahead by %s until %s: if the client writes down when its lease ends, the lock stays taken for that much longer",
				g.process, dur(clock.ahead()), format.Instant(clock.end))
		default:
			a.Sizes["set_back"] = clock.ahead()
			a.Explanation += clock.setBackWords() + "was held"
			if clock.end > g.believedEnd {
				a.Explanation += ", or an expiry of it ran"
			}
		}
	}
	if o, f := an.waiterLost(k, best.from); a.Cause == "" && why.suspect == nil && o != nil {
		a.Explanation += fmt.Sprintf("; %s had asked for it at %s, and waited as well", o.process, format.Instant(o.invT))
		p := part{fault: f, side: verdict.OnClient}
		why = blamed{suspect: &p, parts: []part{p}}
	}
	if g := k.grantedBeside(best, a.Time, faulty); g != nil && !best.ops[0].keptOutBehind(a.Cause) {
		a.Explanation += fmt.Sprintf("; %s, which asked for it at %s, was granted it %s later, while %s still waited: ", g.process, format.Instant(g.invT), dur(g.okT-g.invT), process)
		if g.mayBeStillOwn() {
			if a.Cause == "" {
				a.Cause = ownAgain
				a.Events = append(a.Events, an.evidence.at(append(k.grants[g.n-1].ended(), g.inv, g.ok)...)...)
				slices.Sort(a.Events)
			}
			a.Explanation += fmt.Sprintf("%s had had it last, and the lock may have taken it for the holder still", g.process)
		} else {
			a.Cause = lostWakeUp
			a.Explanation += "the lock was free for " + g.process
			a.Events = append(a.Events, an.evidence.at(g.inv, g.ok)...)
		}
	}
	return an.evidence.finish(a, best.from, why, process)
}
