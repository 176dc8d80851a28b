package hunt

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/scenarios"
)

// Shrunk is a schedule that was made as small as it goes.
type Shrunk struct {
	Signature Signature `json:"signature"`
	Schedule  string    `json:"schedule"` // as a scenario's file has it
	Faults    [2]int    `json:"faults"`   // before and after
	Steps     [2]int    `json:"steps"`
	Needed    []string  `json:"needed,omitempty"`
	Runs      int       `json:"runs"` // until it was found; those of Rate not among them
	// Larger is why it may not be the least; "" if every smaller one was tried.
	Larger string `json:"larger,omitempty"`
	Rate   Rate   `json:"rate"` // of the last runs, after nothing was changed any more
	// Without are the faults that are left, each with how often it came without that one.
	Without []Mitigation `json:"without,omitempty"`
}

// ShrinkOptions says how a schedule is made smaller.
type ShrinkOptions struct {
	Like    *Signature // the counterexample that must stay; nil: the first that it shows
	Find    []string   // anomalies; nil: all of required properties
	Budget  int        // of runs
	Replays int        // how often what remains is run in the end
}

// ErrHolds is that a schedule that was to be made smaller breaks nothing.
var ErrHolds = errors.New("it breaks nothing")

// ErrUntried is that no run of a schedule that was to be made smaller went as planned, so that nothing is known of it.
var ErrUntried = errors.New("it is not known whether it breaks anything")

// provedWithin is how often a schedule is run until it has to have shown a violation.
const provedWithin = 10

// Shrink makes a schedule as small as it goes while it breaks the lock in the same way.
func Shrink(ctx context.Context, t Target, p Runner, s *scenarios.Scenario, o ShrinkOptions) (*Shrunk, error) {
	h := New(Options{Target: t, Find: o.Find})
	defer h.stop()
	k := &shrinker{h: h, runner: p, budget: o.Budget}
	found := o.Like != nil
	if found {
		k.sig = *o.Like
	}
	var discarded int
	var why string
	for k.runs < provedWithin && discarded < 2*provedWithin && !found {
		out, err := p.Run(ctx, s)
		if err != nil {
			return nil, err
		}
		all := h.o.signatures(out.Verdict, s)
		switch {
		case out.Busy || out.Unsupported || out.Discarded != "" && len(all) == 0:
			discarded++
			why = out.Discarded
			continue
		case len(all) > 0:
			k.sig, found = all[0], true
		}
		k.runs++
	}
	if !found && k.runs == 0 {
		return nil, fmt.Errorf("%s: %w: all %d runs of it were discarded: %s", s.Name, ErrUntried, discarded, why)
	}
	if !found {
		return nil, fmt.Errorf("%s was run %d times: %w", s.Name, k.runs, ErrHolds)
	}
	if _, err := k.measure(ctx, s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	small, needed := k.shrink(ctx, s)
	centered := k.center(ctx, small)
	out := &Shrunk{Needed: k.needs(small, centered, needed), Runs: k.runs, Larger: k.over(ctx)}
	small = centered
	kept := len(k.acceptedSteps)
	if small, out.Rate = k.settle(ctx, small, o.Replays); len(k.acceptedSteps) < kept {
		out.Needed = nil // of another schedule
	}
	w := Counterexample{Signature: k.sig, Name: s.Name, Schedule: string(small.Write()), Alone: out.Rate}
	h.without(ctx, p, &w, 1)
	out.Without = w.Without
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.sig.Kinds, k.sig.InAcquire = t.kindsOf(small), !k.sig.byWhatever() && inAcquire(small)
	small.Expect = []scenarios.Expectation{{Lock: t.Lock, Fencing: scenarios.Every, Must: []string{k.sig.Anomaly}, May: others([]string{k.sig.Anomaly})}}
	if k.sig.LeaseHazard() {
		small.Expect = nil // whichever of its anomalies it comes to
	}
	small.Name, small.About, small.Replay = s.Name, s.About, ""
	if out.Rate.Runs > 0 {
		small.Replay = fmt.Sprintf("%d of %d", out.Rate.Hits, out.Rate.Runs)
	}
	out.Signature, out.Schedule = k.sig, string(small.Write())
	out.Faults, out.Steps = [2]int{len(s.TriggeredFaults), len(small.TriggeredFaults)}, [2]int{stepsOf(s), stepsOf(small)}
	return out, nil
}

// settle measures how often what is left shows itself, and takes back what was left away
// last for as long as that is not nearly every time, or half as often as it came at first.
func (k *shrinker) settle(ctx context.Context, s *scenarios.Scenario, replays int) (*scenarios.Scenario, Rate) {
	rate := k.h.rate(ctx, k.runner, s, k.sig, replays)
	for !k.steadyEnough(rate) && len(k.acceptedSteps) > 0 && ctx.Err() == nil {
		last := len(k.acceptedSteps) - 1
		larger, err := scenarios.Parse(s.File, []byte(k.acceptedSteps[last]))
		if err != nil {
			break
		}
		again := k.h.rate(ctx, k.runner, larger, k.sig, replays)
		if again.hitRate() <= rate.hitRate() {
			break // what is larger is no steadier
		}
		s, rate, k.acceptedSteps = larger, again, k.acceptedSteps[:last]
	}
	return s, rate
}
