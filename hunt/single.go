package hunt

import (
	"context"
	"slices"
	"sync"

	"github.com/picklock/picklock/scenarios"
)

// singleOut looks for the one fault of several that does what several counterexamples show, and takes the others away.
// Pairs of faults are run early, so that many of them may show one bug of a single fault. That bug is then made smaller
// once, and counted once if there is no time for it.
func (h *Search) singleOut(ctx context.Context, p *team, o FinishOptions) {
	var each sync.WaitGroup
	for _, w := range h.counterexamples {
		s, err := w.scenario()
		if err != nil || len(s.TriggeredFaults) < 2 || !h.hasRival(w) {
			continue
		}
		o.tell("run %s with each of its faults alone", w.Signature)
		each.Go(func() { h.singleFault(ctx, p, w, s) })
	}
	each.Wait()
	h.merge()
}

// hasRival says that another counterexample may be of the same bug.
func (h *Search) hasRival(w *Counterexample) bool {
	return slices.ContainsFunc(h.counterexamples, func(o *Counterexample) bool { return o != w && o.root() == w.root() })
}

// enoughAlone is how often a fault has to do it alone, before it failed twice in a row or three times.
const enoughAlone = 3

func (h *Search) singleFault(ctx context.Context, p Runner, w *Counterexample, s *scenarios.Scenario) {
	sig := w.Signature
	sig.exact = sig.precise()
	for i := range s.TriggeredFaults {
		single := clone(s)
		single.TriggeredFaults = slices.Clone(s.TriggeredFaults[i : i+1])
		tidy(single)
		if single = h.mutator.whole(single); single == nil || len(single.TriggeredFaults) == 0 {
			continue // it begins or ends with another one
		}
		var seen shown
		rate, shows := h.repeatBeside(ctx, seen.by(p, sig), single, sig, &sequential{}, enoughAlone, besideOfOne)
		if !shows {
			continue
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		w.acceptedSteps = append(w.acceptedSteps, w.Schedule)
		w.Search, w.hitRate = rate, 0
		if list := seen.list(); len(list) > 0 {
			w.Anomalies = list
		}
		w.is(h.o.Target, single)
		return
	}
}
