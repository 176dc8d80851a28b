package checker

import (
	"cmp"
	"slices"
)

// covering answers which windows lie wholly inside the union of some intervals, taken
// without their ends.
type covering struct {
	// intervals are those that reach further than all that begin before them: both their begins
	// and their ends rise.
	intervals []holdInterval
	// next is for each of them the last one that begins before it ends, itself where there is
	// none; depth how many follow in that way, and jump one of those: O(log n) of these steps
	// lead to any of them (Myers, An applicative random-access stack, 1983).
	next, depth, jump []int32
	named             bool // a cover, in full
}

// coveringOf takes intervals by begin.
func coveringOf(intervals []holdInterval) *covering {
	c := &covering{}
	for _, p := range intervals {
		if n := len(c.intervals); n == 0 || p.to > c.intervals[n-1].to {
			c.intervals = append(c.intervals, p)
		}
	}
	n := len(c.intervals)
	c.next, c.depth, c.jump = make([]int32, n), make([]int32, n), make([]int32, n)
	for i := n - 1; i >= 0; i-- {
		p := int32(c.before(c.intervals[i].to))
		c.next[i], c.jump[i] = p, p
		if int(p) == i {
			continue
		}
		c.depth[i] = c.depth[p] + 1
		if q := c.jump[p]; c.depth[p]-c.depth[q] == c.depth[q]-c.depth[c.jump[q]] {
			c.jump[i] = c.jump[q]
		}
	}
	return c
}

// before is the index of the last interval that begins before t, -1 where none does.
func (c *covering) before(t int64) int {
	n, _ := slices.BinarySearchFunc(c.intervals, t, func(p holdInterval, t int64) int { return cmp.Compare(p.from, t) })
	return n - 1
}

// of returns the fewest grants whose intervals cover the closed window w, in their order; nil
// if they do not. Where they are many, and one such cover was returned before, the first of
// them are named.
func (c *covering) of(w interval) *crowd {
	first := c.before(w.from)
	if first < 0 || c.intervals[first].to <= w.from {
		return nil
	}
	last := int32(first)
	for c.intervals[last].to <= w.to {
		switch next := c.next[last]; {
		case next == last:
			return nil // nothing goes on from there
		case c.intervals[c.jump[last]].to <= w.to:
			last = c.jump[last]
		default:
			last = next
		}
	}
	n := int(c.depth[first]-c.depth[last]) + 1
	out := &crowd{}
	if n > crowdAll && c.named {
		out.more, n = n-crowdNamed, crowdNamed
	}
	c.named = true
	seen := map[*grant]bool{}
	for i := int32(first); n > 0; i, n = c.next[i], n-1 {
		if g := c.intervals[i].g; !seen[g] {
			seen[g] = true
			out.older = append(out.older, g)
		}
	}
	return out
}
