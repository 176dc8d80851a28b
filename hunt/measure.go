package hunt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// Finish makes every counterexample as small as it goes, those that are reproduced reliably first, measures its rate
// with the machine to itself, and tries what might help. The counterexamples are shrunk side by side, by
// all runners; what is measured is measured with the machine to itself.
func (h *Search) Finish(ctx context.Context, runners []Runner, o FinishOptions) error {
	if o.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Time)
		defer cancel()
	}
	h.Shrink(ctx, runners, o)
	if err := h.Measure(ctx, runners, o); err != nil {
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
	h.withoutFaults(ctx, p, o)
	h.byChance()
	h.singleOut(ctx, p, o)
	h.compare(ctx, p, o) // what is one bug is made smaller once
	h.shrinkWithin(ctx, p, o)
	h.merge()
	h.compare(ctx, p, o)
	h.name()
	h.result.Counterexamples = h.counterexamples
}

// Measure is the second half of Finish, until ctx ends. Counterexamples whose runs take long, as those of a deadlock do,
// come last, and leave the others time: each has its share of it, and what is left in the end. What is intermittent comes
// when the others are done.
func (h *Search) Measure(ctx context.Context, runners []Runner, o FinishOptions) error {
	p := newTeam(runners)
	list := slices.Clone(h.counterexamples)
	slices.SortStableFunc(list, func(a, b *Counterexample) int {
		return cmp.Or(first(a.Steady(), b.Steady()), cmp.Compare(a.took, b.took))
	})
	steady := slices.IndexFunc(list, func(w *Counterexample) bool { return !w.Steady() })
	if steady < 0 {
		steady = len(list)
	}
	for _, some := range [][]*Counterexample{list[:steady], list[steady:]} {
		if err := h.measureSome(ctx, p, some, o); err != nil {
			return err
		}
	}
	for _, w := range list {
		if n := o.Replays - w.Alone.Runs; w.Unmeasured && ctx.Err() == nil {
			o.tell("run %s%s, %d times more", w.Name, w.howMany(p), n)
			if err := h.measureMore(ctx, p, w, n); err != nil {
				return err
			}
			w.Unmeasured = ctx.Err() != nil && w.Alone.Runs < o.Replays
		}
	}
	return nil
}

// measureSome runs each counterexample as often as its share of the time allows, and tries then what may prevent it.
func (h *Search) measureSome(ctx context.Context, p *team, some []*Counterexample, o FinishOptions) error {
	for i, w := range some {
		if w.Unmeasured = ctx.Err() != nil; w.Unmeasured {
			continue
		}
		o.tell("run %s%s", w.Name, w.howMany(p))
		if err := h.measureIsolated(ctx, p, w, len(some)-i, o.Replays); err != nil {
			return err
		}
		w.Unmeasured = w.Alone.Runs < o.Replays // until there is time for the rest
	}
	for _, w := range some {
		if ctx.Err() == nil {
			h.without(ctx, p, w, w.beside(p))
		}
		w.Untried = ctx.Err() != nil
		if !w.Steady() {
			continue
		}
		if ctx.Err() == nil {
			o.tell("try mitigations of %s", w.Name)
			h.mitigations(ctx, p, w, o)
		}
		w.Untried = ctx.Err() != nil
	}
	return nil
}

// longRun is how long a run takes that mostly waits: of these a few are run side by side.
const (
	longRun    = time.Second
	longBeside = 6
)

// beside is how many runs of a counterexample are made at once where nothing else runs.
func (w *Counterexample) beside(p *team) int {
	if w.took < longRun {
		return 1
	}
	return max(1, min(p.size, longBeside))
}

func (w *Counterexample) howMany(p *team) string {
	if n := w.beside(p); n > 1 {
		return fmt.Sprintf(" in groups of %d", n)
	}
	return " alone"
}

// runShare runs a counterexample as often as its share of the time allows, where so many are still to be measured: half of
// the time is for what helps. The first runs tell how long one takes.
func (h *Search) runShare(ctx context.Context, p *team, seen *shown, w *Counterexample, s *scenarios.Scenario, left, replays int) Rate {
	end, bounded := ctx.Deadline()
	now, run := time.Now(), seen.by(p, w.Signature)
	if !bounded {
		return h.runAlone(ctx, run, w, s, replays, w.beside(p))
	}
	r := h.runAlone(ctx, run, w, s, min(replays, max(enoughToSay, w.beside(p))), w.beside(p))
	took := time.Since(now)
	share := end.Sub(now) / 2 / time.Duration(left)
	more := r.Runs * int(share-took) / int(max(took, 1))
	more -= more % w.beside(p) // some at once take no less time than all
	if more = min(more, replays-r.Runs); more > 0 {
		r.add(h.runAlone(ctx, run, w, s, more, w.beside(p)))
	}
	return r
}

// measureIsolated measures how often a counterexample shows itself while nothing else is run; left is how many are still to
// be measured.
func (h *Search) measureIsolated(ctx context.Context, p *team, w *Counterexample, left, replays int) error {
	s, err := w.scenario()
	if err != nil {
		return fmt.Errorf("read the schedule that was found: %w", err)
	}
	measure := func() {
		var seen shown
		defer func() {
			if names := seen.list(); len(names) > 0 {
				w.Anomalies = names // not those of what it was made of
			}
		}()
		w.Alone = h.runShare(ctx, p, &seen, w, s, left, replays)
	}
	measure()
	// What was made smaller at the price of its rate is taken back, step by step.
	for !w.reliable() && len(w.acceptedSteps) > 0 && ctx.Err() == nil {
		last := len(w.acceptedSteps) - 1
		if s, err = scenarios.Parse(w.Name+".yaml", []byte(w.acceptedSteps[last])); err != nil {
			return fmt.Errorf("read the schedule that was found: %w", err)
		}
		w.acceptedSteps, w.Needed = w.acceptedSteps[:last], nil
		w.is(h.o.Target, s)
		measure()
	}
	h.sign(w, s)
	return nil
}

// measureMore adds to what measureIsolated has measured.
func (h *Search) measureMore(ctx context.Context, p *team, w *Counterexample, times int) error {
	s, err := w.scenario()
	if err != nil {
		return fmt.Errorf("read the schedule that was found: %w", err)
	}
	var seen shown
	more := h.runAlone(ctx, seen.by(p, w.Signature), w, s, times, w.beside(p))
	w.Alone.add(more)
	for _, name := range seen.list() {
		if !slices.Contains(w.Anomalies, name) {
			w.Anomalies = append(w.Anomalies, name)
		}
	}
	h.sign(w, s)
	return nil
}

// runAlone runs a counterexample's schedule so many times, and keeps the evidence of one that showed it, if there is one with the cause
// that not every run tells.
func (h *Search) runAlone(ctx context.Context, p Runner, w *Counterexample, s *scenarios.Scenario, times, beside int) Rate {
	told := false
	r := h.rateBeside(ctx, p, s, w.Signature, times, func(out *Outcome) {
		e := evidenceOf(out, w.Signature)
		if e == nil || told && e.Anomaly.Cause != w.Cause {
			return
		}
		told = told || e.Anomaly.Cause == w.Cause
		w.Evidence, w.Explanation = e, e.Anomaly.Explanation // the explanation and the picture are of one run
	}, beside)
	if beside > 1 {
		r.Beside = beside
	}
	return r
}

func (h *Search) conclude(o FinishOptions) {
	h.order()
	before := len(h.counterexamples)
	h.group() // the record of a run with the machine to itself may tell what that of the search did not
	if len(h.counterexamples) < before {
		h.number(rename) // who gathers what others found knows neither the lock nor its lease
	}
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
		{func(w *Counterexample) bool { return w.Unmeasured }, "%s not run alone as often as was asked for"},
		{func(w *Counterexample) bool { return w.Untried }, "not every cause and mitigation was tried on %s"},
		{func(w *Counterexample) bool { return w.Uncompared }, "%s may be the same bug as another"},
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
}

// Finds are the counterexamples of a search, to be gone on with elsewhere.
func (h *Search) Finds() []Find {
	var out []Find
	for _, w := range h.counterexamples {
		out = append(out, FindOf(w))
	}
	return out
}

// FindOf is a counterexample with what is needed to go on with it.
func FindOf(w *Counterexample) Find {
	return Find{w, w.acceptedSteps, w.hitRate}
}

// Adopt goes on with finds of another search.
func (h *Search) Adopt(finds []Find) {
	h.counterexamples = nil
	for _, f := range finds {
		w := *f.Counterexample
		w.acceptedSteps, w.hitRate = f.Trail, f.Share
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
