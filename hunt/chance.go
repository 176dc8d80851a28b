package hunt

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// mayBeChance is the probability from which on what a schedule showed may have come by chance.
const mayBeChance = 0.05

// byChance puts counterexamples with faults under one without any that shows the same, if they came no more often
// than that anomaly comes in whatever schedule: their faults are no part of it. What comes now and then without a
// fault comes now and then beside each of them, too. So does a lease hazard on a lock that two clients have at once without
// any fault: it need not be the fault that let a stale write through.
func (h *Search) byChance() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order()
	all := slices.Clone(h.counterexamples) // the deletion moves them
	h.counterexamples = slices.DeleteFunc(h.counterexamples, func(w *Counterexample) bool {
		if w.Faults == 0 {
			return false
		}
		i := slices.IndexFunc(all, func(o *Counterexample) bool {
			return o.Faults == 0 && len(o.Kinds) == 0 && (o.alike() == w.alike() && !w.Hazard() || w.Hazard() && o.overlaps())
		})
		if i < 0 || !h.perhapsChance(w) {
			return false
		}
		o := all[i]
		o.Seen += w.Seen
		with := &o.ByChance
		if w.Hazard() {
			with = &o.HazardsByChance
		}
		if !slices.Contains(*with, w.Takes()) {
			*with = append(*with, w.Takes())
		}
		return true
	})
}

// overlaps says that a counterexample proves that two clients had the lock at once.
func (s Signature) overlaps() bool {
	return s.Anomaly == "granted-early" || s.Anomaly == "double-grant"
}

// mostFaultless is how often, at most, a schedule is run without its faults to see whether it needs any.
const mostFaultless = 40

// seekFaultless runs without any fault what came with several, and with none of them more often than in whatever schedule.
// If it comes there as well, byChance puts the others under that.
func (h *Search) seekFaultless(ctx context.Context, p *team, o FinishOptions) {
	ctx, cancel := o.within(ctx, askShare)
	defer cancel()
	for _, w := range h.perhapsFaultless() {
		s := h.faultless(w)
		if s == nil {
			continue
		}
		n := mostFaultless
		if usual := h.usual(w); usual > 0 {
			n = min(n, int(math.Ceil(3/usual))) // after so many it has come with 95 %
		}
		o.tell("run the program of %s without a fault, up to %d times", w, n)
		h.showFaultless(ctx, p, s, w, n)
	}
}

// faultless is a counterexample's schedule without its faults; nil if nothing can be run of it.
func (h *Search) faultless(w *Counterexample) *scenarios.Scenario {
	s, err := w.scenario()
	if err != nil {
		return nil
	}
	s = clone(s)
	s.TriggeredFaults, s.Expect = nil, nil
	return h.mutator.whole(s)
}

// faultlessRuns is how often a counterexample's program is run without its faults, to see whether they matter.
const faultlessRuns = 12

// withoutFaults runs the program of each counterexample with faults without them, if there is one alike that needs none: a
// program in which the lock breaks more often than in others breaks it as often beside each fault.
func (h *Search) withoutFaults(ctx context.Context, p *team, o FinishOptions) {
	ctx, cancel := o.within(ctx, askShare)
	defer cancel()
	list := h.besideFaultless()
	if len(list) > 0 {
		o.tell("run the programs of %d %s without their faults", len(list), format.Noun(len(list), "counterexample", "counterexamples"))
	}
	var each sync.WaitGroup
	for _, w := range list {
		s := h.faultless(w)
		if s == nil {
			continue
		}
		each.Go(func() { w.faultless = h.rate(ctx, p, s, w.loosely(), faultlessRuns) })
	}
	each.Wait()
}

// besideFaultless are the counterexamples with faults beside one that is alike and needs none, if they came more often than
// that comes in whatever schedule.
func (h *Search) besideFaultless() []*Counterexample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.counterexamples), func(w *Counterexample) bool {
		return w.Faults == 0 || w.Hazard() || h.perhapsChance(w) || !slices.ContainsFunc(h.counterexamples, func(o *Counterexample) bool {
			return o.Faults == 0 && len(o.Kinds) == 0 && o.alike() == w.alike()
		})
	})
}

// perhapsFaultless are counterexamples, one of those that are alike, beside which are others with other faults, and none
// without; and none came more often than by chance.
func (h *Search) perhapsFaultless() []*Counterexample {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order()
	var roots []string
	of := map[string][]*Counterexample{}
	for _, w := range h.counterexamples {
		if !slices.Contains(roots, w.alike()) {
			roots = append(roots, w.alike())
		}
		of[w.alike()] = append(of[w.alike()], w)
	}
	var out []*Counterexample
	for _, r := range roots {
		list := of[r]
		if slices.ContainsFunc(list, func(w *Counterexample) bool { return w.Faults == 0 || w.Hazard() }) {
			continue
		}
		list = slices.DeleteFunc(list, func(w *Counterexample) bool { return !h.perhapsChance(w) })
		if len(list) > 1 {
			out = append(out, list[0])
		}
	}
	return out
}

// showFaultless runs a schedule until it shows what w does, n times at most, and takes that in, or how often it did not.
func (h *Search) showFaultless(ctx context.Context, p *team, s *scenarios.Scenario, w *Counterexample, n int) {
	for n > 0 && ctx.Err() == nil {
		outs := runs(ctx, p, s, min(n, p.size))
		n -= len(outs)
		h.mu.Lock()
		h.result.Runs += len(outs)
		h.mu.Unlock()
		for _, out := range outs {
			if out == nil || out.Discarded != "" {
				continue
			}
			for _, sig := range h.o.signatures(out.Verdict, s) {
				if w.loosely().is(sig) {
					w.Faultless = Rate{}
					h.confirm(ctx, p, point{schedule: s}, sig, out, "")
					return
				}
			}
			w.Faultless.take(false)
		}
	}
}

// perhapsChance says that a counterexample came no more often than what it shows comes in whatever schedule.
func (h *Search) perhapsChance(w *Counterexample) bool {
	// Of several schedules the one is kept that shows it most often.
	return float64(w.others+1)*w.Search.beyond(max(h.usual(w), w.faultless.hitRate())) >= mayBeChance
}

// usual is in which part of all other schedules the search saw what a counterexample shows.
func (h *Search) usual(w *Counterexample) float64 {
	// Without its own. What another part of the hunt has found, this one may never have seen.
	r := Rate{Hits: max(0, h.showed[w.alike()]-1), Runs: h.judged - 1}
	return r.hitRate()
}

// beyond is how probable it is that a schedule shows something as often as it did, or more often, when it was run again,
// if it shows it in that part of its runs. The run that it was found in does not count: it was chosen for what
// it showed.
func (r Rate) beyond(part float64) float64 {
	n, k := r.Runs-1, r.Hits-1
	if k <= 0 {
		return 1
	}
	// The binomial distribution's tail.
	p := 0.0
	for i := k; i <= n; i++ {
		p += choose(n, i) * math.Pow(part, float64(i)) * math.Pow(1-part, float64(n-i))
	}
	return p
}

// choose is the number of ways to take k of n.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}
