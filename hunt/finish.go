package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// FinishOptions says what is done with the counterexamples that a search has found.
type FinishOptions struct {
	Replays int           // how often each is run alone in the end
	Time    time.Duration // for all of it; 0: no limit
	Tell    func(text string)
	// Vary gives a runner of the same lock on which something is different, and what ends
	// it; nil: no mitigation is tried that needs one.
	Vary func(ctx context.Context, v Variation) (Runner, func() error, error)
	// Fencing are the disciplines that might help, Options the settings of the lock.
	Fencing []string
	Options []Setting
}

// Setting is a value of an option of the lock.
type Setting struct{ Name, Value string }

// Variation is what is different for a mitigation.
type Variation struct {
	Fencing string
	TTL     time.Duration
	Option  Setting // the zero one for none
}

// shrinkBudget is how many runs the shrinking of one counterexample may take; unsteadyBudget that of one
// that is intermittent, of which each look takes more of them.
const (
	shrinkBudget   = 400
	unsteadyBudget = 600
)

// Why a counterexample may not be the least; the latter also why a mitigation was not tried.
const (
	asFound  = "it is as it was found"
	timeOver = "the time was over"
)

// shrinkShare is the part of the time that shrinking may take.
const shrinkShare = 0.4

// askShare is the part of the time that each question before and after it may take: to make counterexamples smaller matters
// more, and of a long program there are many acts to leave away.
const askShare = 0.2

// within is ctx for a part of the time, if there is a limit.
func (o FinishOptions) within(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	if o.Time <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(share*float64(o.Time)))
}

// shrinkWithin leaves time for what follows: how often a counterexample comes and what
// helps is worth more than its last step less.
func (h *Search) shrinkWithin(ctx context.Context, p *team, o FinishOptions) {
	ctx, cancel := o.within(ctx, shrinkShare)
	defer cancel()
	h.shrinkAll(ctx, p, o)
}

func (o FinishOptions) tell(format string, args ...any) {
	if o.Tell != nil {
		o.Tell(fmt.Sprintf(format, args...))
	}
}

func (w *Counterexample) scenario() (*scenarios.Scenario, error) {
	return scenarios.Parse(w.Name+".yaml", []byte(w.Schedule))
}

// shrinkAll makes the counterexamples smaller, side by side. All runners help: those that are under way
// share them, so that the last one has them all. What hardly comes beside others is tried again with nothing beside it.
func (h *Search) shrinkAll(ctx context.Context, p *team, o FinishOptions) {
	queue := make(chan *Counterexample, len(h.counterexamples))
	for _, steady := range []bool{true, false} {
		for _, w := range h.counterexamples {
			if w.Steady() == steady {
				queue <- w
			}
		}
	}
	close(queue)
	var left atomic.Int32 // those that are not as small as they go
	left.Store(int32(len(h.counterexamples)))
	share := func() int { return max(1, p.size/max(1, int(left.Load()))) }
	seldomBeside := make(chan *Counterexample, len(h.counterexamples))
	var each sync.WaitGroup
	for range p.size {
		each.Go(func() {
			for w := range queue {
				s, err := w.scenario()
				if err == nil && ctx.Err() == nil {
					o.tell("shrink %s", w.Signature)
					if err := h.shrinkCounterexample(ctx, p, share, w, s); errors.Is(err, ErrSeldom) {
						seldomBeside <- w
					}
				} else if err == nil {
					w.Larger = timeOver
				}
				left.Add(-1)
			}
		})
	}
	each.Wait()
	close(seldomBeside)
	for w := range seldomBeside {
		if s, err := w.scenario(); err == nil && ctx.Err() == nil {
			o.tell("shrink %s with nothing beside it", w.Signature)
			_ = h.shrinkCounterexample(ctx, p, nil, w, s) // why it is not smaller is noted there
		}
	}
}

// shrinkCounterexample makes one counterexample as small as it goes. The error says why it was not tried.
func (h *Search) shrinkCounterexample(ctx context.Context, p Runner, beside func() int, w *Counterexample, s *scenarios.Scenario) error {
	k := &shrinker{h: h, runner: p, beside: beside, sig: w.Signature, record: w.Evidence, budget: shrinkBudget}
	rate, err := k.measure(ctx, s)
	var needed []string
	if k.hitRate > 0 {
		k.budget = unsteadyBudget
	}
	if err == nil {
		s, needed = k.shrink(ctx, s)
	}
	small := s
	larger := k.over(ctx)
	if err != nil {
		larger = err.Error()
	} else {
		s = k.center(ctx, s) // what it finds is no smaller
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Larger = larger
	if k.hitRate > 0 { // with many runs it is known better
		w.Search, w.hitRate = rate, k.hitRate
	} else if err == nil {
		w.hitRate = 0
	}
	w.Needed, w.ShrinkRuns, w.acceptedSteps = k.needs(small, s, needed), k.runs, k.acceptedSteps
	if k.evidence != nil { // the explanation and the picture are of the schedule that is shown
		w.Evidence, w.Explanation = k.evidence, k.evidence.Anomaly.Explanation
	}
	if len(k.anomalies) > 0 {
		w.Anomalies = k.anomalies
	}
	w.is(h.o.Target, s)
	return err
}

// is makes a schedule the counterexample's own.
func (w *Counterexample) is(t Target, s *scenarios.Scenario) {
	w.Schedule, w.Faults, w.Steps, w.Kinds = string(s.Write()), len(s.TriggeredFaults), stepsOf(s), t.kindsOf(s)
	w.InAcquire = !w.byWhatever() && inAcquire(s)
}

// merge leaves of counterexamples that are the same now the smallest.
func (h *Search) merge() {
	h.order()
	out := []*Counterexample{}
	for _, w := range h.counterexamples {
		i := slices.IndexFunc(out, func(o *Counterexample) bool {
			return o.Steady() && o.within(w.Signature) || pendingKey(o.Signature) == pendingKey(w.Signature)
		})
		if i < 0 {
			out = append(out, w)
			continue
		}
		out[i].Seen += w.Seen
		out[i].Variants = append(out[i].Variants, w.Variants...)
		if w.FirstSecond < out[i].FirstSecond {
			out[i].FirstSecond, out[i].FirstRun = w.FirstSecond, w.FirstRun
		}
	}
	h.counterexamples = out
}

// order puts lock bugs before lease hazards. Of each, what is steady comes first, then what
// takes least, then the deepest anomaly.
func (h *Search) order() {
	depths := map[string]int{}
	for _, a := range verdict.Anomalies() {
		depths[a.Name] = a.Depth
	}
	slices.SortStableFunc(h.counterexamples, func(a, b *Counterexample) int {
		return cmp.Or(
			first(!a.Hazard(), !b.Hazard()),
			first(a.Steady(), b.Steady()),
			a.Faults-b.Faults,
			len(a.Kinds)-len(b.Kinds), // another lease is no fault, but more than none
			a.Steps-b.Steps,
			depths[a.Anomaly]-depths[b.Anomaly],
		)
	})
}

// first compares: true comes before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// rate runs a schedule so many times, one after the other.
func (h *Search) rate(ctx context.Context, p Runner, s *scenarios.Scenario, sig Signature, times int) Rate {
	return h.rateBeside(ctx, p, s, sig, times, nil, 1)
}

// rateBeside is rate with so many runs side by side; seen, if there is one, is called with each run that counts.
func (h *Search) rateBeside(ctx context.Context, p Runner, s *scenarios.Scenario, sig Signature, times int, seen func(*Outcome), beside int) Rate {
	var r Rate
	for r.Runs < times && r.Discarded <= times && ctx.Err() == nil {
		for _, out := range runs(ctx, p, s, min(beside, times-r.Runs)) {
			if out == nil || out.Busy || out.Unsupported {
				r.Discarded++
				continue
			}
			if seen != nil {
				seen(out)
			}
			if out.Discarded != "" {
				r.Missed++
			}
			r.take(slices.ContainsFunc(h.o.signatures(out.Verdict, s), sig.is))
		}
	}
	return r
}

// mitigations tries on a counterexample what may prevent it.
func (h *Search) mitigations(ctx context.Context, p Runner, w *Counterexample, o FinishOptions) {
	const times = 10
	s, err := w.scenario()
	if err != nil {
		return
	}
	try := func(name string, p Runner, s *scenarios.Scenario) {
		if s = h.mutator.whole(s); s != nil && ctx.Err() == nil {
			w.Mitigations = append(w.Mitigations, Mitigation{Name: name, Rate: h.rate(ctx, p, s, w.Signature, times)})
		}
	}
	if checked, ok := checking(s); ok {
		try("looking at the lease before each write (--check-lease)", p, checked)
	}
	if o.Vary == nil {
		return
	}
	vary := func(name string, v Variation, s *scenarios.Scenario) {
		if ctx.Err() != nil {
			w.Mitigations = append(w.Mitigations, Mitigation{Name: name, Why: timeOver})
			return
		}
		q, end, err := o.Vary(ctx, v)
		if err != nil {
			m := Mitigation{Name: name, Why: err.Error()}
			if ctx.Err() != nil {
				m.Why = timeOver // and the error says only what was under way
			}
			w.Mitigations = append(w.Mitigations, m)
			return
		}
		try(name, q, s)
		if err := end(); err != nil {
			o.tell("close the testbed of a mitigation: %v", err)
		}
	}
	for _, f := range o.Fencing {
		c := clone(s)
		c.Fencing, c.Expect = []string{f}, nil
		vary("--fencing "+f, Variation{Fencing: f, TTL: s.TTL}, c)
	}
	for _, option := range o.Options {
		c := clone(s)
		if c.Extra, c.Expect = maps.Clone(s.Extra), nil; c.Extra == nil {
			c.Extra = map[string]string{}
		}
		c.Extra[option.Name] = option.Value
		vary(fmt.Sprintf("--lock-option %s=%s", option.Name, option.Value), Variation{Fencing: h.o.Target.Fencing, TTL: s.TTL, Option: option}, c)
	}
	c := clone(s)
	c.TTL = 3 * s.TTL
	vary(fmt.Sprintf("a lease of %v, the sections as long as before (--ttl)", c.TTL), Variation{Fencing: h.o.Target.Fencing, TTL: c.TTL}, inTime(c, s.TTL))
}

// checking puts a look at the lease before every write.
func checking(s *scenarios.Scenario) (*scenarios.Scenario, bool) {
	c, any := clone(s), false
	for name, p := range c.Programs {
		var out scenarios.Program
		for i, m := range p {
			if (m.Do == history.Write || m.Do == history.Add) && (i == 0 || p[i-1].Do != "check") {
				out = append(out, scenarios.Move{Do: "check"})
				any = true
			}
			out = append(out, m)
		}
		c.Programs[name] = out
	}
	return c, any
}

// inTime writes a schedule's leases as times, so that a longer lease makes nothing else
// longer.
func inTime(s *scenarios.Scenario, ttl time.Duration) *scenarios.Scenario {
	fix := func(sp *scenarios.Span) {
		if sp.Leases > 0 {
			*sp = scenarios.Span{Fixed: sp.Of(ttl).Round(time.Millisecond)}
		}
	}
	for i := range s.TriggeredFaults {
		fix(&s.TriggeredFaults[i].Until.Or)
	}
	for _, p := range s.Programs {
		for i := range p {
			fix(&p[i].Span)
		}
	}
	return s
}
