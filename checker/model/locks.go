package model

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// holdInterval is an interval in which an owner certainly held something: from the answer
// to its acquire until it asked to release.
type holdInterval struct {
	from, to int
	ops      []*Op // all of it, in their order
	in       int   // entries of a reentrant lock
	write    bool  // of a read-write lock
}

// holdIntervals takes a history of a lock apart by owner. It succeeds where each owner does
// one thing at a time, releases only what it holds, and does nothing more after an
// acquire whose outcome it never learnt: then that acquire can be taken for one
// that never happened, every acquire for one that happened when it was answered,
// and every release for one that happened when it was asked for. Moving them to
// there never takes the lock away from a holder, so that a history is
// possible if and only if this one order of it is.
//
// One interval is a whole hold of a lock that counts its owner's entries (depth > 1),
// or one permit.
func holdIntervals(ops []*Op, depth int, permits bool) ([]holdInterval, bool) {
	type owner struct {
		last  *Op
		stuck bool
		open  []holdInterval
	}
	owners := map[string]*owner{}
	var out []holdInterval
	for _, o := range ops {
		if o.Owner == anybody {
			return nil, false
		}
		p := owners[o.Owner]
		if p == nil {
			p = &owner{}
			owners[o.Owner] = p
		}
		if p.stuck || (p.last != nil && p.last.Return > o.Call && p.last.Type != Info) {
			return nil, false
		}
		p.last = o
		write := strings.HasSuffix(o.F, "-write")
		if strings.HasPrefix(o.F, "acquire") {
			if o.Type == Info {
				p.stuck = true
				continue
			}
			if len(p.open) > 0 && !permits {
				held := &p.open[0]
				if held.in >= depth {
					return nil, false
				}
				held.in++
				held.ops = append(held.ops, o)
				continue
			}
			p.open = append(p.open, holdInterval{from: o.Return, to: never, ops: []*Op{o}, in: 1, write: write})
			continue
		}
		if len(p.open) == 0 || p.open[0].write != write {
			return nil, false
		}
		p.stuck = o.Type == Info && depth > 1 // it may hold on or not
		s := p.open[0]
		s.ops = append(s.ops, o)
		if s.in--; s.in > 0 {
			p.open[0] = s
			continue
		}
		s.to = o.Call
		out = append(out, s)
		p.open = p.open[1:]
	}
	for _, p := range owners {
		out = append(out, p.open...)
	}
	slices.SortFunc(out, func(a, b holdInterval) int { return cmp.Compare(a.from, b.from) })
	return out, true
}

// exactLock decides the mutexes: no two intervals may overlap, and then their order is
// known, and the model is asked once for each operation.
func exactLock(m *Model, ops []*Op) ([]*Op, bool) {
	depth := 1
	if strings.HasPrefix(m.Name, "reentrant") {
		depth = reentries
	}
	list, ok := holdIntervals(ops, depth, false)
	if !ok {
		return nil, false
	}
	for i := 1; i < len(list); i++ {
		if a, b := list[i-1], list[i]; b.from < a.to {
			return []*Op{a.ops[0], b.ops[0]}, true
		}
	}
	state := m.init
	var latest *Op // with a fence; none was higher
	for _, s := range list {
		for _, o := range s.ops {
			ok, next := m.step(state, o)
			if !ok {
				// The lock is free or its owner's, so it is the fence that is wrong.
				// That it comes first distinguishes this evidence from that of two holders.
				return []*Op{o, latest}, latest != nil
			}
			state = next
			if o.F == "acquire" && o.Fence != 0 {
				latest = o
			}
		}
	}
	return nil, true
}

// ends is a heap of intervals by their ends.
type ends []holdInterval

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].to < e[j].to }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(v any)        { *e = append(*e, v.(holdInterval)) }
func (e *ends) Pop() any {
	last := len(*e) - 1
	v := (*e)[last]
	*e = (*e)[:last]
	return v
}

// exactPermits decides a semaphore: never more than n permits out at once.
func exactPermits(ops []*Op, n int) ([]*Op, bool) {
	list, ok := holdIntervals(ops, 1, true)
	if !ok {
		return nil, false
	}
	var out ends
	for _, s := range list {
		for len(out) > 0 && out[0].to < s.from {
			heap.Pop(&out)
		}
		heap.Push(&out, s)
		if len(out) > n {
			var evidence []*Op
			for _, s := range out {
				evidence = append(evidence, s.ops[0])
			}
			slices.SortFunc(evidence, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
			return evidence, true
		}
	}
	return nil, true
}

// exactRW decides a read-write lock: a writer overlaps nobody.
func exactRW(_ *Model, ops []*Op) ([]*Op, bool) {
	list, ok := holdIntervals(ops, 1, false)
	if !ok {
		return nil, false
	}
	var reader, writer holdInterval // the ones that reach furthest
	for _, s := range list {
		if writer.to > s.from {
			return []*Op{writer.ops[0], s.ops[0]}, true
		}
		if s.write && reader.to > s.from {
			return []*Op{reader.ops[0], s.ops[0]}, true
		}
		if s.write {
			writer = s
		} else if s.to > reader.to {
			reader = s
		}
	}
	return nil, true
}
