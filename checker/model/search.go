package model

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/anishathalye/porcupine"
)

// search has Porcupine decide: it knows none of our algorithms, so it is the
// second opinion on all of them, and the last resort where they give up.
func search(ctx context.Context, m *Model, ops []*Op, limit time.Duration) (legal, decided bool) {
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end))
	}
	if limit <= 0 {
		return false, false
	}
	// A call without a return would be illegal to Porcupine, and what may never
	// have happened must be allowed not to have. So the history gets an end, at
	// which all that is open returns, and after which nothing changes any more.
	last := 0
	for _, o := range ops {
		last = max(last, o.Call)
		if o.Return != never {
			last = max(last, o.Return)
		}
	}
	over := &Op{F: "end"}
	calls := []porcupine.Operation{{Input: over, Call: int64(last) + 1, Return: int64(last) + 2}}
	for i, o := range ops {
		ret := int64(o.Return)
		if o.Return == never {
			ret = int64(last) + 3
		}
		calls = append(calls, porcupine.Operation{ClientId: i + 1, Input: o, Call: int64(o.Call), Return: ret})
	}
	seed := maphash.MakeSeed()
	res := porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return ending{state: m.init} },
		StepContext: func(_ context.Context, state, input, _ any) (bool, any) {
			s, o := state.(ending), input.(*Op)
			if o == over || s.over {
				// What comes now never happened: all that was answered was
				// answered before the end.
				s.over = true
				return true, s
			}
			ok, next := m.step(s.state, o)
			return ok, ending{state: next}
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state) },
	}, calls, limit)
	return res == porcupine.Ok, res != porcupine.Unknown
}

// ending is a model's state, and whether the history is over.
type ending struct {
	state any
	over  bool
}
