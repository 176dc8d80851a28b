package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// patience is the gap between two acquires of one client that still counts as
// waiting without a break.
const patience = 100e6

// findDeadlocks finds stretches longer than the bound in which a lock was wanted by
// some and rightfully held by nobody, nothing was broken, and no grant came. Whether
// the service still keeps a dead holder's key it cannot know, and does not say.
//
// Held, for this purpose, is all that can be read in the lock's favour: from
// the earliest instant at which a grant can have been given until its release was
// answered, its lease had run out however late it began, or its client had
// stopped believing; and as long as a request of unknown outcome may have left a
// lease behind. Broken is the time of any fault, landed or not, and
// for as long as a cut network may be felt.
func findDeadlocks(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		free := gaps(busy(an, k), an.last, an.opt.Bound)
		if len(free) == 0 {
			continue
		}
		asked := k.allAcquires()
		for _, free := range free {
			if a, ok := deadlock(an, k, asked, free); ok {
				out = append(out, a)
			}
		}
	}
	return out
}

// allAcquires lists also those that were granted, by invoke.
func (k *lock) allAcquires() []*op {
	all := slices.Clone(k.acquires)
	for _, g := range k.grants {
		if g.inv >= 0 {
			all = append(all, &op{f: fAcquire, typ: tOK, process: g.process, lock: k, grant: g, invT: g.invT, endT: g.okT, inv: g.inv, comp: g.ok})
		}
	}
	slices.SortStableFunc(all, func(a, b *op) int { return cmp.Compare(a.inv, b.inv) })
	return all
}

// busy returns when the lock was not free or something was broken.
func busy(an *analysis, k *lock) []span {
	busy := append(make([]span, 0, 2*len(an.faults.list)+len(k.grants)+len(k.acquires)), an.faults.unsettled...)
	for _, f := range an.faults.list {
		if f.ended || f.landed { // else it was never observed at all
			busy = append(busy, span{f.begin, f.end})
		}
	}
	busy = append(busy, k.gone.busy...)
	for _, g := range k.grants {
		busy = append(busy, span{g.lo, g.heldUntil()})
	}
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
		busy = append(busy, span{o.endT, until})
	}
	slices.SortFunc(busy, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return busy
}

// heldUntil is the latest instant at which a grant can still have had the lock.
func (g *grant) heldUntil() int64 {
	end := g.believedEnd
	if g.lease > 0 {
		end = max(end, satAdd(g.okT, g.lease))
		for _, r := range g.renewals() {
			if r.until > 0 {
				end = max(end, satAdd(r.okT, g.lease))
			}
		}
	}
	if r := g.release; r != nil && r.typ == tOK {
		end = r.endT
	}
	return max(end, g.okT)
}

// waitProof lists the events that show a wait of more than bound: no more of it is
// needed than that, and how the last acquire of it ended does not matter.
func waitProof(ops []*op, from, bound int64) []int32 {
	var places []int32
	for _, o := range ops {
		places = append(places, o.inv)
		if o.endT-from > bound {
			break
		}
		places = append(places, o.comp)
	}
	return places
}

// gaps returns what lies between the spans, within [0, last], if longer than bound.
func gaps(busy []span, last, bound int64) []span {
	var out []span
	at := int64(0)
	for _, b := range busy {
		if b.from-at > bound {
			out = append(out, span{at, b.from})
		}
		at = max(at, b.to)
	}
	if last-at > bound {
		out = append(out, span{at, last})
	}
	return out
}

// deadlock looks for a client that waited for longer than the bound within free.
func deadlock(an *analysis, k *lock, asked []*op, free span) (Anomaly, bool) {
	var best *wait
	waitsWithin(k, asked, free, func(w *wait) {
		if w.to-w.from > an.opt.Bound && (best == nil || w.from < best.from) {
			best = w
		}
	})
	if best == nil {
		return Anomaly{}, false
	}
	process := best.ops[0].process
	a := Anomaly{
		Name: "deadlock", Property: Liveness, Key: k.name, Time: best.from + an.opt.Bound,
		Events: an.evidence.at(waitProof(best.ops, best.from, an.opt.Bound)...),
		Sizes:  map[string]int64{"waited": best.to - best.from, "bound": an.opt.Bound},
		Explanation: fmt.Sprintf("%s waited for the lock %s from %s to %s; all that time no client alive believed that it held it, no lease was running and no fault was on, and nobody was granted it within the bound of %s",
			process, k.name, format.Instant(best.from), format.Instant(best.to), dur(an.opt.Bound)),
	}
	// Before the stretch lies what left the lock in this state.
	var before []*grant
	var why blamed
	for _, g := range k.grants {
		if g.okT <= best.from {
			before = append(before, g)
		}
	}
	if len(before) > 0 {
		g := before[len(before)-1]
		a.Explanation += fmt.Sprintf("; the last to be granted it was %s at %s", g.process, format.Instant(g.okT))
		if f := crashed(an, g); f != nil {
			a.Cause = "crashed-holder"
			a.Explanation += fmt.Sprintf(", which was killed at %s without having released it", format.Instant(f.begin))
			why = blamed{suspect: &part{fault: f, side: verdict.OnClient}}
		} else {
			why = an.suspects.leftBehind(g, best.from)
		}
	}
	return an.evidence.finish(a, best.from, why, process), true
}

// wait is how long one client has waited without a break, and its acquires meanwhile.
type wait struct {
	span
	ops []*op
}

// waitsWithin tells, each time that one grows, of the waits within a stretch in which nobody
// had the lock. asked are acquires, by invoke.
func waitsWithin(k *lock, asked []*op, free span, tell func(*wait)) {
	waits := map[string]*wait{}
	pause := int64(patience) - k.margin // between times of one clock
	for _, o := range asked {
		if o.invT >= free.to {
			break
		}
		// One that ended too near to the stretch's begin may have ended before it.
		if o.endT-4*k.margin <= free.from || o.failed {
			continue
		}
		w := waits[o.process]
		if w == nil || o.invT-w.to >= pause {
			w = &wait{span: span{max(o.invT, free.from), 0}}
			waits[o.process] = w
		}
		w.to = min(max(w.to, o.endT), free.to)
		w.ops = append(w.ops, o)
		tell(w)
	}
}

// crashed is the kill, if it was one, that ended g's hold.
func crashed(an *analysis, g *grant) *fault {
	if g.release != nil || g.lost >= 0 {
		return nil
	}
	for i := range an.faults.list {
		f := &an.faults.list[i]
		if f.landed && baseName(f.name) == "kill" && slices.Contains(f.nodes, g.process) && f.begin >= g.okT && f.begin == g.believedEnd {
			return f
		}
	}
	return nil
}
