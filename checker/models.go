package checker

import (
	"github.com/anishathalye/porcupine"
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
	again bool // given back to its own client with the token that it had
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
			if (exclusive && s.owner != 0) || (fenced && (c.token < s.token || c.token == s.token && !c.again)) {
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

// lockCalls turns grants into calls of a lockModel.
func lockCalls(grants []*grant, exclusive bool) []porcupine.Operation {
	until := int64(0)
	for _, g := range grants {
		until = max(until, g.okT, g.end())
	}
	again := map[*grant]bool{}
	for _, g := range grants {
		if g.anew != nil && g.anew.token == g.token && g.goesOn() {
			again[g.anew] = true
		}
	}
	var out []porcupine.Operation
	for i, g := range grants {
		out = append(out, porcupine.Operation{ClientId: i, Input: lockCall{grant: i + 1, token: g.token, again: again[g]}, Call: g.lo, Return: g.okT})
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
	return g.givenWithin().from
}

// registerModel is one register that starts with a known value; a call is a read
// (its output the value) or a write.
func registerModel(initial string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, output any) (bool, any) {
			if o := input.(*op); o.f != fRead {
				return true, o.value
			}
			return output.(string) == state.(string), state
		},
	}
}

// registerCalls turns operations into calls of a registerModel. took says
// whether an operation of unknown outcome took effect.
func registerCalls(ops []*op, took func(*op) bool) []porcupine.Operation {
	until := int64(0)
	for _, o := range ops {
		until = max(until, o.invT, o.endT)
	}
	var out []porcupine.Operation
	for i, o := range ops {
		call := porcupine.Operation{ClientId: i, Input: o, Call: o.invT, Output: o.value, Return: o.endT}
		switch {
		case o.typ == tOK:
		case o.f == fRead || !took(o):
			continue
		default:
			call.Return = until + 1
		}
		out = append(out, call)
	}
	return out
}
