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
	Plays     int       `json:"plays"`
}

// ErrHolds is that a schedule that was to be made smaller breaks nothing.
var ErrHolds = errors.New("it breaks nothing")

// provedWithin is how often a schedule is played until it has to have shown a violation.
const provedWithin = 10

// Shrink makes a schedule as small as it goes while it breaks the lock in the same way.
func Shrink(ctx context.Context, t Target, p Player, s *scenarios.Scenario, budget int) (*Shrunk, error) {
	h := New(Options{Target: t})
	defer h.stop()
	k := &shrinker{h: h, player: p, budget: budget}
	found := false
	for k.plays < provedWithin && !found {
		out, err := p.Play(ctx, s)
		if err != nil {
			return nil, err
		}
		k.plays++
		if all := h.o.signatures(out.Verdict, s); len(all) > 0 && !out.Busy {
			k.sig, found = all[0], true
		}
	}
	if !found {
		return nil, fmt.Errorf("%s was played %d times: %w", s.Name, k.plays, ErrHolds)
	}
	small, needed := k.shrink(ctx, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.sig.Kinds = kindsOf(small)
	small.Expect = []scenarios.Expectation{{Lock: t.Lock, Fencing: scenarios.Every, Must: []string{k.sig.Anomaly}, May: others([]string{k.sig.Anomaly})}}
	if k.sig.Anomaly == LateWrite {
		small.Expect = nil // whichever of its anomalies it comes to
	}
	small.Name, small.About, small.Replay = s.Name, s.About, ""
	return &Shrunk{
		Signature: k.sig, Schedule: string(small.Write()), Needed: needed, Plays: k.plays,
		Faults: [2]int{len(s.Strikes), len(small.Strikes)}, Steps: [2]int{stepsOf(s), stepsOf(small)},
	}, nil
}
