package checker

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// capacity looks at intervals in the order of their beginnings, and remembers of
// those before what can stand in the way of the next.
type capacity interface {
	// conflicts returns the fewest earlier intervals with which p is one too many; nil if
	// it is not. The first one ends first. They are good until the next call of add.
	conflicts(p holdInterval) []holdInterval
	add(p holdInterval)
}

// capacity makes the one of this kind of lock; nil where the grants say of several kinds that
// it is.
func (k *kind) capacity() capacity {
	switch {
	case k.mutex():
		return &mutexCapacity{}
	case k.permits > 0 && !k.shared && !k.nested:
		return &permitCapacity{n: k.permits}
	case k.shared && k.permits <= 0 && !k.nested:
		return &sharedCapacity{}
	case k.nested && k.permits <= 0 && !k.shared:
		return &ownerCapacity{reach: map[string]int64{}, part: map[*grant]bool{}}
	}
	return nil
}

// crowd is the grants with which another one is one too many, by ok.
type crowd struct {
	older []*grant
	more  int   // how many there are besides, which are not named
	until int64 // none of them had ended before that
}

// Of a crowd of more than crowdAll, which only a semaphore can have, crowdNamed are named, and
// the others counted: else the anomalies of a lock grow with the square of the history's length.
// The first crowd of a lock names all of its grants: it is the evidence.
const crowdAll, crowdNamed = 32, 8

// crowdOf is the crowd of intervals as conflicts returns them.
func crowdOf(intervals []holdInterval, first bool) crowd {
	c := crowd{until: intervals[0].to}
	if len(intervals) > crowdAll && !first {
		c.more = len(intervals) - crowdNamed
		intervals = intervals[:crowdNamed]
	}
	for _, p := range intervals {
		c.older = append(c.older, p.g)
	}
	slices.SortFunc(c.older, func(a, b *grant) int { return cmp.Compare(a.ok, b.ok) })
	return c
}

// n is how many grants there are.
func (c *crowd) n() int { return len(c.older) + c.more }

// processes names whose grants they are: "c1, c2 and 998 more" where they are many.
func (c *crowd) processes() string {
	names := processesOf(c.older[:min(len(c.older), crowdAll)])
	if n := c.n(); n > crowdAll {
		names = processesOf(c.older[:crowdNamed])
		return fmt.Sprintf("%s and the holders of %d more", strings.Join(names, ", "), n-crowdNamed)
	}
	return format.And(names)
}

// permitCapacity holds the n intervals that reach furthest.
type permitCapacity struct {
	n    int64
	list byEnd
}

type byEnd []holdInterval

func (l byEnd) Len() int           { return len(l) }
func (l byEnd) Less(i, j int) bool { return l[i].to < l[j].to }
func (l byEnd) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *byEnd) Push(v any)        { *l = append(*l, v.(holdInterval)) }
func (l *byEnd) Pop() any {
	last := len(*l) - 1
	v := (*l)[last]
	*l = (*l)[:last]
	return v
}

func (c *permitCapacity) conflicts(p holdInterval) []holdInterval {
	if int64(len(c.list)) < c.n || c.list[0].to <= p.from {
		return nil
	}
	return c.list
}

func (c *permitCapacity) add(p holdInterval) {
	heap.Push(&c.list, p)
	if int64(len(c.list)) > c.n {
		heap.Pop(&c.list)
	}
}

// sharedCapacity holds, of those who share the lock and of those who do not, the interval
// that reaches furthest.
type sharedCapacity struct{ exclusive, shared holdInterval }

func (c *sharedCapacity) conflicts(p holdInterval) []holdInterval {
	rival := c.exclusive
	if p.g.mode != shared && c.shared.to > rival.to {
		rival = c.shared
	}
	if rival.to <= p.from {
		return nil
	}
	return []holdInterval{rival}
}

func (c *sharedCapacity) add(p holdInterval) {
	longest := &c.exclusive
	if p.g.mode == shared {
		longest = &c.shared
	}
	if p.to > longest.to {
		*longest = p
	}
}

// ownerCapacity holds the interval that reaches furthest, and the one that does among those
// of other processes.
type ownerCapacity struct {
	longest, other holdInterval
	reach          map[string]int64 // by process: until when it has the lock
	part           map[*grant]bool  // met a rival as part of a hold that had met it
}

func (c *ownerCapacity) conflicts(p holdInterval) []holdInterval {
	// A hold that begins anew is not the one that its process had before.
	anew := p.g.mode != nested && p.from == p.g.okT
	rival := c.longest
	if !anew && rival.g != nil && rival.g.process == p.g.process {
		rival = c.other
	}
	switch {
	case rival.to <= p.from || c.part[p.g]:
		return nil
	case !anew && c.reach[p.g.process] > p.from:
		// The one that came last, the rest of the hold or the rival, was looked at then.
		c.part[p.g] = true
		return nil
	}
	return []holdInterval{rival}
}

func (c *ownerCapacity) add(p holdInterval) {
	c.reach[p.g.process] = max(c.reach[p.g.process], p.to)
	switch {
	case c.longest.g == nil || c.longest.g.process == p.g.process:
		if p.to > c.longest.to {
			c.longest = p
		}
	case p.to > c.longest.to:
		c.longest, c.other = p, c.longest
	case p.to > c.other.to:
		c.other = p
	}
}

// mutexCapacity holds the interval that reaches furthest.
type mutexCapacity struct{ longest holdInterval }

func (c *mutexCapacity) conflicts(p holdInterval) []holdInterval {
	if c.longest.g == nil || c.longest.to <= p.from {
		return nil
	}
	return []holdInterval{c.longest}
}

func (c *mutexCapacity) add(p holdInterval) {
	if c.longest.g == nil || p.to > c.longest.to {
		c.longest = p
	}
}
