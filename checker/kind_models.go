package checker

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// kindCall is one step of a lock that is no mutex: a grant, or the end of one.
type kindCall struct {
	end   bool
	grant int // 0, 1, ...: its bit
	owner string
	mode  mode
}

// bits is a set of the grants of one window.
type bits [(windowSize + 63) / 64]uint64

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) flip(i int) bits {
	b[i/64] ^= 1 << (i % 64)
	return b
}

// kindState is who has such a lock.
type kindState struct {
	out       bits // grants in force
	n         int  // how many
	exclusive bool // the one that is out does not share
	owner     string
}

// model is the sequential model of a lock that is no mutex.
func (k *lock) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return kindState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, c := state.(kindState), input.(kindCall)
			if c.end {
				if !s.out.has(c.grant) {
					return false, s
				}
				s.out, s.n = s.out.flip(c.grant), s.n-1
				if s.n == 0 {
					s = kindState{}
				}
				return true, s
			}
			ok := s.n == 0
			switch {
			case k.permits > 0:
				ok = int64(s.n) < k.permits
			case k.nested:
				ok = ok || (c.mode == nested && s.owner == c.owner)
				s.owner = c.owner
			default:
				ok = ok || (c.mode == shared && !s.exclusive)
				s.exclusive = c.mode != shared
			}
			if !ok {
				return false, state
			}
			s.out, s.n = s.out.flip(c.grant), s.n+1
			return true, s
		},
		Hash: func(state any) uint64 {
			s := state.(kindState)
			h := uint64(s.n)
			for _, b := range s.out {
				h = (h ^ b) * 0x9e3779b97f4a7c15
			}
			return h
		},
	}
}

// porcupineCase asks Porcupine about grants of such a lock, those that were certainly alive.
func (k *lock) porcupineCase(grants []*grant) porcupineCase {
	q := porcupineCase{exact: len(k.earlyOf(grants)) == 0, model: k.model()}
	if k.capacity() == nil {
		q.exact = true
		return q
	}
	grants = slices.DeleteFunc(slices.Clone(grants), func(g *grant) bool { return g.end() <= g.okT })
	until := int64(0)
	for _, g := range grants {
		until = max(until, g.end())
	}
	for i, g := range grants {
		c := kindCall{grant: i, owner: g.process, mode: g.mode}
		q.calls = append(q.calls, porcupine.Operation{ClientId: i, Input: c, Call: g.lo, Return: g.okT})
		c.end = true
		q.calls = append(q.calls, porcupine.Operation{ClientId: i, Input: c, Call: g.end(), Return: until + 1})
	}
	return q
}
