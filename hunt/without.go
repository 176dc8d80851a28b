package hunt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/scenarios"
)

const (
	// withoutPlays is how often a counterexample is run without one of its faults.
	withoutRuns = enoughWithout
	// tellable is the part of its runs a counterexample has to show itself in for so many runs without a
	// fault to say that it is needed: at less, they might show nothing by chance.
	tellable = 0.3
)

// without runs a counterexample again without each of its faults, so many runs at once: a fault is the cause of what does
// not come without it. A clock is set all the same, by so little that nothing can depend on it: who sets a clock stops
// the process for a moment, and keeps back its messages if one of them is the fault's trigger.
func (h *Search) without(ctx context.Context, p Runner, w *Counterexample, beside int) {
	s, err := w.scenario()
	if err != nil || !w.Tellable() {
		return
	}
	w.Without = nil
	for i, st := range s.TriggeredFaults {
		c, instead := clone(s), ""
		if harmless, ok := hardlySet(st); ok {
			c.TriggeredFaults[i], instead = harmless, harmless.Fault.Text
		} else {
			c.TriggeredFaults = slices.Delete(c.TriggeredFaults, i, i+1)
		}
		c.Expect = nil
		if c = h.mutator.whole(c); c != nil && ctx.Err() == nil {
			w.Without = append(w.Without, Mitigation{Name: st.Fault.Text, Instead: instead, Rate: h.rateBeside(ctx, p, c, w.loosely(), withoutRuns, nil, beside)})
		}
	}
}

// hardly is by how much a clock is set of which it is to be seen whether it matters how far.
const hardly = time.Microsecond

// hardlySet is the fault of a clock that is set at the same moment, and by next to nothing; false if it is none of a clock.
func hardlySet(st scenarios.TriggeredFault) (scenarios.TriggeredFault, bool) {
	if st.Fault.Word != "clock" || len(st.Fault.Nodes) != 1 {
		return st, false
	}
	out, err := scenarios.NewTriggeredFault(fmt.Sprintf("clock: %s +%v", st.Fault.Nodes[0], hardly), st.When, st.Until)
	return out, err == nil
}

// Tellable says that the counterexample comes often enough for some runs without a fault to say whether that is needed.
func (w *Counterexample) Tellable() bool { return w.rate().hitRate() >= tellable }

// Confirmed says that each of the counterexample's faults was seen to be needed: it did not break without
// any one of them. A counterexample that takes no fault is confirmed as such.
func (w *Counterexample) Confirmed() bool {
	return len(w.Without) == w.Faults && !slices.ContainsFunc(w.Without, func(r Mitigation) bool { return !r.Rate.Helps(w.rate()) })
}
