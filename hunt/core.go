package hunt

import (
	"context"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// toCore begins with what the record of one run needs, if that shows the signature as steadily: it saves the trials by which each of the other moves
// would be left away.
func (k *shrinker) toCore(ctx context.Context, s *scenarios.Scenario) *scenarios.Scenario {
	for _, works := range []bool{false, true} {
		c := k.record.core(s, works)
		if c == nil {
			return s
		}
		tidy(c)
		if c = k.h.mutator.whole(c); c == nil || size(c) >= size(s) || k.over(ctx) != "" {
			continue
		}
		if k.same(ctx, c, keptAfter) {
			k.acceptedSteps = append(k.acceptedSteps, string(s.Write()))
			return c
		}
	}
	return s
}

// core is the schedule without the clients and moves that the record of one run does not need: what stays is what the anomaly's events are of, what the
// same clients read and write in these sections, what they wait for, and their releases, without which others would wait in vain. works says whether they
// go on working as long. nil if the record does not tell.
func (e *Evidence) core(s *scenarios.Scenario, works bool) *scenarios.Scenario {
	if e == nil || e.LeftOut > 0 {
		return nil
	}
	needed := e.acts()
	out := clone(s)
	for _, c := range s.Clients {
		if len(needed[c]) == 0 {
			dropClient(out, c)
			continue
		}
		nth := map[string]int{}
		section := 0 // which acquire came last
		out.Programs[c] = slices.DeleteFunc(out.Programs[c], func(m scenarios.Move) bool {
			do, _, _ := strings.Cut(m.Do, " ")
			nth[do]++
			if do == history.Acquire {
				section = nth[do]
			}
			switch do {
			case scenarios.Wait:
				return false
			case scenarios.Work:
				return !works || !needed[c][nthOp{history.Acquire, section}]
			case history.Read, history.Write, history.Release:
				return !needed[c][nthOp{history.Acquire, section}] && !needed[c][nthOp{do, nth[do]}]
			}
			return !needed[c][nthOp{do, nth[do]}]
		})
	}
	return out
}

// nthOp is a client's nth operation of a kind.
type nthOp struct {
	do  string
	nth int
}

// acts are the operations that the anomaly's events are of, by client.
func (e *Evidence) acts() map[string]map[nthOp]bool {
	out := map[string]map[nthOp]bool{}
	nth, open := map[string]map[string]int{}, map[string]nthOp{}
	for _, ev := range e.Events {
		if ev.Process == history.Nemesis {
			continue
		}
		if ev.Type == history.Invoke {
			if nth[ev.Process] == nil {
				nth[ev.Process] = map[string]int{}
			}
			nth[ev.Process][ev.F]++
			open[ev.Process] = nthOp{ev.F, nth[ev.Process][ev.F]}
		}
		if a := open[ev.Process]; a.do == ev.F && slices.Contains(e.Anomaly.Events, ev.Index) {
			if out[ev.Process] == nil {
				out[ev.Process] = map[nthOp]bool{}
			}
			out[ev.Process][a] = true
		}
	}
	return out
}
