package hunt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/format"
)

// Finish makes every counterexample as small as it goes, those that are reproduced reliably first, measures its rate
// with the machine to itself, and tries what might help. The counterexamples are shrunk side by side, by
// all runners; what is measured is measured alone.
func (h *Search) Finish(ctx context.Context, runners []Runner, o FinishOptions) error {
	if o.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Time)
		defer cancel()
	}
	h.Shrink(ctx, runners, o)
	if err := h.Measure(ctx, runners[0], o); err != nil {
		return err
	}
	h.conclude(o)
	return nil
}

// Shrink is the first half of Finish: afterwards the counterexamples are as small as they go, and have
// their names.
func (h *Search) Shrink(ctx context.Context, runners []Runner, o FinishOptions) {
	p := newTeam(runners)
	h.seekFaultless(ctx, p, o)
	h.byChance()
	h.compare(ctx, p, o) // what is one bug is made smaller once
	h.shrinkWithin(ctx, p, o)
	h.merge()
	h.compare(ctx, p, o)
	h.name()
	h.result.Counterexamples = h.counterexamples
}

// Measure is the second half of Finish, until ctx ends. Counterexamples whose runs take long, as those of a deadlock do,
// come last, and leave the others time: each has its share of half the time, and what is left in the end.
func (h *Search) Measure(ctx context.Context, p Runner, o FinishOptions) error {
	list := slices.Clone(h.counterexamples)
	slices.SortStableFunc(list, func(a, b *Counterexample) int { return cmp.Compare(a.took, b.took) })
	for i, w := range list {
		if w.unmeasured = ctx.Err() != nil; w.unmeasured {
			continue
		}
		times := replaysWithin(ctx, w.took, len(list)-i, o.Replays)
		o.tell("run %s alone, %d times", w.Name, times)
		if err := h.measureIsolated(ctx, p, w, times); err != nil {
			return err
		}
		w.unmeasured = w.Alone.Runs < o.Replays && (times < o.Replays || ctx.Err() != nil)
	}
	for _, w := range list {
		if ctx.Err() == nil {
			h.without(ctx, p, w)
		}
		if !w.Steady() {
			continue
		}
		if ctx.Err() == nil {
			o.tell("try mitigations of %s", w.Name)
			h.mitigations(ctx, p, w, o)
		}
		w.untried = ctx.Err() != nil
	}
	for _, w := range list {
		if n := o.Replays - w.Alone.Runs; w.unmeasured && n > 0 && ctx.Err() == nil {
			o.tell("run %s alone, %d times more", w.Name, n)
			if err := h.measureMore(ctx, p, w, n); err != nil {
				return err
			}
			w.unmeasured = w.Alone.Runs < o.Replays && ctx.Err() != nil
		}
	}
	return nil
}

// replaysWithin is how often a counterexample whose runs take so long is run at first, where the time for all is bounded
// and so many are still to be measured.
func replaysWithin(ctx context.Context, took time.Duration, left, replays int) int {
	end, bounded := ctx.Deadline()
	if !bounded || took <= 0 {
		return replays
	}
	share := time.Until(end) / 2 / time.Duration(left)
	return min(replays, max(enoughToSay, int(share/took)))
}

func (h *Search) conclude(o FinishOptions) {
	h.order()
	h.result.Counterexamples = h.counterexamples
	h.unfinished(o)
}

// unfinished says what there was no time for.
func (h *Search) unfinished(o FinishOptions) {
	for _, x := range []struct {
		of   func(w *Counterexample) bool
		what string
	}{
		{func(w *Counterexample) bool { return w.Larger == timeOver }, "%s may not be the least"},
		{func(w *Counterexample) bool { return w.unmeasured }, "%s not run alone as often as was asked for"},
		{func(w *Counterexample) bool { return w.untried }, "not all that might help was tried on %s"},
		{func(w *Counterexample) bool { return w.uncompared }, "%s may be the same bug as another"},
	} {
		n := 0
		for _, w := range h.counterexamples {
			if x.of(w) {
				n++
			}
		}
		if n > 0 {
			it := fmt.Sprintf("%d of %d %s", n, len(h.counterexamples), format.Noun(len(h.counterexamples), "counterexample", "counterexamples"))
			h.result.Unfinished = append(h.result.Unfinished, fmt.Sprintf(x.what, it))
		}
	}
	if len(h.result.Unfinished) > 0 {
		o.tell("the time for what was found was over: %s", strings.Join(h.result.Unfinished, "; "))
	}
}

// Find is a counterexample on its way to another machine, with what is needed to go on with it there.
type Find struct {
	Counterexample *Counterexample `json:"counterexample"`
	Trail          []string        `json:"trail,omitempty"` // larger schedules that showed it, the latest last
	Share          float64         `json:"share,omitempty"` // of the runs that showed it when it was found; 0: nearly all
	// There was no time to run it alone, and to try what might help.
	Unmeasured bool `json:"unmeasured,omitempty"`
	Untried    bool `json:"untried,omitempty"`
}

// Finds are the counterexamples of a search, to be gone on with elsewhere.
func (h *Search) Finds() []Find {
	var out []Find
	for _, w := range h.counterexamples {
		out = append(out, Find{w, w.acceptedSteps, w.hitRate, w.unmeasured, w.untried})
	}
	return out
}

// Adopt goes on with finds of another search.
func (h *Search) Adopt(finds []Find) {
	h.counterexamples = nil
	for _, f := range finds {
		w := *f.Counterexample
		w.acceptedSteps, w.hitRate, w.unmeasured, w.untried = f.Trail, f.Share, f.Unmeasured, f.Untried
		h.counterexamples = append(h.counterexamples, &w)
	}
}

// Gather is what a hunt came to whose counterexamples were measured on several machines: as if Finish had
// done it on one.
func Gather(r Result, finds []Find) *Result {
	h := &Search{result: r}
	h.Adopt(finds)
	h.conclude(FinishOptions{})
	return &h.result
}
