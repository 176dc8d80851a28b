package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// sweep decides by going over the events once and keeping every configuration in
// which the object can be: its state, and which of the open operations took effect
// already (G. Lowe, Testing for linearizability, 2017: just-in-time linearization).
// Its memory depends on what is open at one time, not on the history's length. An
// operation is made to take effect only when an answer needs it.
//
// When no configuration is left, the events up to there are the evidence, and the
// answer that killed the last one is returned. room bounds the configurations
// that are made in all; decided is false if it did not suffice or ctx ended.
func sweep(ctx context.Context, m *Model, ops []*Op, room int) (broken *Op, decided bool) {
	s := &sweeper{ctx: ctx, m: m, room: room, earlierAlike: earlierAlikeOf(ops)}
	type event struct {
		at   int
		o    *Op
		call bool
	}
	var events []event
	for _, o := range ops {
		events = append(events, event{o.Call, o, true})
		if o.Return != never {
			events = append(events, event{o.Return, o, false})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return a.at - b.at })
	s.now = []config{{state: m.init}}
	for _, e := range events {
		if e.call {
			s.open = append(s.open, e.o)
			continue
		}
		if !s.answer(e.o) {
			return nil, false
		}
		if len(s.now) == 0 {
			return e.o, true
		}
	}
	return nil, true
}

// config is one way in which the open operations can have gone so far. done holds
// indexes in sweeper.open, ascending.
type config struct {
	state any
	done  []int32
}

type sweeper struct {
	ctx          context.Context
	m            *Model
	open         []*Op // whose answer has not come; those of unknown outcome stay
	now          []config
	room         int
	earlierAlike map[*Op]*Op
}

// twinsOf names, for each operation of unknown outcome, an earlier one that is the
// same in all: of such a pair only the earlier one needs to be tried first.
func earlierAlikeOf(ops []*Op) map[*Op]*Op {
	last := map[string]*Op{}
	out := map[*Op]*Op{}
	for _, o := range ops {
		if o.Type != Info {
			continue
		}
		id := fmt.Sprintf("%q %q %q %q %q %d", o.F, o.Owner, o.Arg, o.Arg2, o.Under, o.Fence)
		if t := last[id]; t != nil {
			out[o] = t
		}
		last[id] = o
	}
	return out
}

func key(c config) any {
	b := make([]byte, 0, 4*len(c.done))
	for _, d := range c.done {
		b = binary.LittleEndian.AppendUint32(b, uint32(d))
	}
	return struct {
		state any
		done  string
	}{c.state, string(b)}
}

// answer keeps the configurations in which o took effect, letting others take
// effect before it. False if it had to give up.
func (s *sweeper) answer(o *Op) bool {
	index := int32(slices.Index(s.open, o))
	seen := map[any]bool{}
	var next []config
	var grow func(c config) bool
	grow = func(c config) bool {
		if s.room--; s.room < 0 || (s.room&1023 == 0 && s.ctx.Err() != nil) {
			return false
		}
		if k := key(c); seen[k] {
			return true
		} else {
			seen[k] = true
		}
		if _, took := slices.BinarySearch(c.done, index); took {
			next = append(next, c)
			return true
		}
		for i, p := range s.open {
			at, took := slices.BinarySearch(c.done, int32(i))
			if took {
				continue
			}
			if t := s.earlierAlike[p]; t != nil {
				// It was called before p, and is never answered: it is open.
				if _, done := slices.BinarySearch(c.done, int32(slices.Index(s.open, t))); !done {
					continue
				}
			}
			ok, state := s.m.step(c.state, p)
			if !ok || (p.Type == Info && state == c.state) {
				continue
			}
			if !grow(config{state, slices.Insert(slices.Clone(c.done), at, int32(i))}) {
				return false
			}
		}
		return true
	}
	for _, c := range s.now {
		if !grow(c) {
			return false
		}
	}
	next = s.undominated(next)
	// The answered one leaves the open ones.
	for i := range next {
		done := next[i].done
		at, _ := slices.BinarySearch(done, index)
		done = slices.Delete(done, at, at+1)
		for j := at; j < len(done); j++ {
			done[j]--
		}
		next[i].done = done
	}
	s.open = slices.Delete(s.open, int(index), int(index)+1)
	s.now = next
	return true
}

// undominated leaves out every configuration that has done all that another one
// with the same state has, and operations of unknown outcome besides: whatever can
// follow it can follow the other.
func (s *sweeper) undominated(list []config) []config {
	byState := map[any][]config{}
	for _, c := range list {
		byState[c.state] = append(byState[c.state], c)
	}
	var out []config
	for _, group := range byState {
		if len(group) == 1 || len(group) > 4000 {
			out = append(out, group...)
			continue
		}
		slices.SortFunc(group, func(a, b config) int { return len(a.done) - len(b.done) })
		var kept []config
		for _, c := range group {
			if !slices.ContainsFunc(kept, func(k config) bool { return s.covers(k.done, c.done) }) {
				kept = append(kept, c)
			}
		}
		out = append(out, kept...)
	}
	return out
}

// covers says that more is less and operations of unknown outcome besides.
func (s *sweeper) covers(less, more []int32) bool {
	i := 0
	for _, d := range more {
		if i < len(less) && less[i] == d {
			i++
		} else if s.open[d].Type != Info {
			return false
		}
	}
	return i == len(less)
}
