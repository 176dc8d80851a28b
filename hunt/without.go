package hunt

import (
	"context"
	"slices"
)

const (
	// withoutPlays is how often a counterexample is run without one of its faults.
	withoutRuns = enoughWithout
	// tellable is the part of its runs a counterexample has to show itself in for so many runs without a
	// fault to say that it is needed: at less, they might show nothing by chance.
	tellable = 0.3
)

// without runs a counterexample again without each of its faults, so many runs at once: a fault is the cause of what does
// not come without it.
func (h *Search) without(ctx context.Context, p Runner, w *Counterexample, beside int) {
	s, err := w.scenario()
	if err != nil || w.rate().hitRate() < tellable {
		return
	}
	w.Without = nil
	for i, st := range s.TriggeredFaults {
		c := clone(s)
		c.TriggeredFaults = slices.Delete(c.TriggeredFaults, i, i+1)
		c.Expect = nil
		if c = h.mutator.whole(c); c != nil && ctx.Err() == nil {
			w.Without = append(w.Without, Mitigation{Name: st.Fault.Text, Rate: h.rateBeside(ctx, p, c, w.loosely(), withoutRuns, nil, beside)})
		}
	}
}

// Confirmed says that each of the counterexample's faults was seen to be needed: it did not break without
// any one of them. A counterexample that takes no fault is confirmed as such.
func (w *Counterexample) Confirmed() bool {
	return len(w.Without) == w.Faults && !slices.ContainsFunc(w.Without, func(r Mitigation) bool { return !r.Rate.Helps(w.rate()) })
}
