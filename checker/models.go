package checker

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/picklock/picklock/history"
)

// The sequential models, for Porcupine. Every history that is handed to them is
// complete: each call has a return (Porcupine calls one without illegal), and what
// may happen later returns when the window ends.

// lockCall is one step of a lock: a grant, or the end of one by release or expiry,
// which comes no earlier than the service's promise allows.
type lockCall struct {
	end   bool
	grant int // 1, 2, ...
	token int64
}

// lockState is a lock between two steps.
type lockState struct {
	owner int // 0: free
	token int64
}

// lockModel is a mutex with leases if exclusive: granted only when free, ended only
// by its owner. It is a source of fencing tokens if fenced: each is greater than
// the last. With both it is the fenced mutex of Jepsen's Hazelcast tests.
func lockModel(exclusive, fenced bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, c := state.(lockState), input.(lockCall)
			if c.end {
				if !exclusive {
					return true, s
				}
				if s.owner != c.grant {
					return false, s
				}
				s.owner = 0
				return true, s
			}
			if (exclusive && s.owner != 0) || (fenced && c.token <= s.token) {
				return false, s
			}
			if exclusive {
				s.owner = c.grant
			}
			if fenced {
				s.token = c.token
			}
			return true, s
		},
		Hash: func(state any) uint64 {
			s := state.(lockState)
			return uint64(s.owner)*0x9e3779b97f4a7c15 ^ uint64(s.token)
		},
	}
}

// lockHistory turns grants into calls of a lockModel.
func lockHistory(grants []*grant, exclusive bool) []porcupine.Operation {
	until := int64(0)
	for _, g := range grants {
		until = max(until, g.okT, g.end())
	}
	var out []porcupine.Operation
	for i, g := range grants {
		out = append(out, porcupine.Operation{ClientId: i, Input: lockCall{grant: i + 1, token: g.token}, Call: g.lo, Return: g.okT})
		if exclusive {
			out = append(out, porcupine.Operation{ClientId: i, Input: lockCall{end: true, grant: i + 1}, Call: g.heldTo(), Return: until + 1})
		}
	}
	return out
}

// heldTo is the earliest instant at which the grant can have ended.
func (g *grant) heldTo() int64 {
	if end := g.end(); end > g.okT {
		return end
	}
	return g.window().from
}

// registerModel is one register that starts with a known value; a call is a read
// (its output the value) or a write.
func registerModel(initial string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, output any) (bool, any) {
			if o := input.(*op); o.f != history.Read {
				return true, o.value
			}
			return output.(string) == state.(string), state
		},
	}
}

// registerHistory turns operations into calls of a registerModel. took says
// whether an operation of unknown outcome took effect.
func registerHistory(ops []*op, took func(*op) bool) []porcupine.Operation {
	until := int64(0)
	for _, o := range ops {
		until = max(until, o.invT, o.endT)
	}
	var out []porcupine.Operation
	for i, o := range ops {
		call := porcupine.Operation{ClientId: i, Input: o, Call: o.invT, Output: o.value, Return: o.endT}
		switch {
		case o.typ == history.OK:
		case o.f == history.Read || !took(o):
			continue
		default:
			call.Return = until + 1
		}
		out = append(out, call)
	}
	return out
}

// cutGrants parts a key's grants where the lock was certainly free and nobody's
// request can have been granted: each part can be checked alone.
func cutGrants(grants []*grant) [][]*grant {
	sorted := slices.Clone(grants)
	slices.SortStableFunc(sorted, func(a, b *grant) int { return cmp.Compare(a.lo, b.lo) })
	var parts [][]*grant
	from, until := 0, int64(-1)
	for i, g := range sorted {
		if i > from && g.lo > until {
			parts = append(parts, sorted[from:i])
			from = i
		}
		until = max(until, g.okT, g.heldTo())
	}
	if from < len(sorted) {
		parts = append(parts, sorted[from:])
	}
	return parts
}

// cutOps parts a key's operations where none was under way.
func cutOps(ops []*op, took func(*op) bool) [][]*op {
	var parts [][]*op
	from, until := 0, int64(-1)
	for i, o := range ops {
		if i > from && o.invT > until {
			parts = append(parts, ops[from:i])
			from = i
		}
		end := o.endT
		if o.typ == history.Info && o.f != history.Read && took(o) {
			end = never
		}
		until = max(until, end)
	}
	if from < len(ops) {
		parts = append(parts, ops[from:])
	}
	return parts
}
