package checker

import "slices"

// readMatcher pairs reads with their effects, grant after grant. Its lists are used again.
type readMatcher struct {
	of    [3]readList // by outcome
	left  []*effect
	steps int // that were taken, for tests
}

// readList is one grant's reads of one outcome, by invoke.
type readList struct {
	ops   []*op
	place []int // of each among all of the grant's reads
	next  int   // none before it is still to be taken
	taken []bool
	// ends is a tree: of each node's reads that are not taken, the latest end. The children
	// of i are 2i and 2i+1, the leaves the last half.
	ends []int64
}

// passed is the end of a read that was taken.
const passed = -never - 1

func (l *readList) reset() {
	l.ops, l.place, l.taken, l.next = l.ops[:0], l.place[:0], l.taken[:0], 0
}

func (l *readList) add(o *op, place int) {
	l.ops, l.place, l.taken = append(l.ops, o), append(l.place, place), append(l.taken, false)
}

// build makes the tree.
func (l *readList) build() {
	leaves := 1
	for leaves < len(l.ops) {
		leaves *= 2
	}
	l.ends = slices.Grow(l.ends[:0], 2*leaves)[:2*leaves]
	for i := range leaves {
		l.ends[leaves+i] = passed
		if i < len(l.ops) {
			l.ends[leaves+i] = l.ops[i].endT
		}
	}
	for i := leaves - 1; i > 0; i-- {
		l.ends[i] = max(l.ends[2*i], l.ends[2*i+1])
	}
}

// at is the first read that is not taken and was under way at t; -1 where there is none.
func (l *readList) at(t int64, steps *int) int {
	if len(l.ops) == 0 || l.ends[1] < t {
		return -1
	}
	i := 1
	for ; i < len(l.ends)/2; *steps++ {
		if i *= 2; l.ends[i] < t {
			i++
		}
	}
	// Of those that come after it none was invoked earlier.
	if i -= len(l.ends) / 2; l.ops[i].invT > t {
		return -1
	}
	return i
}

func (l *readList) take(i int, steps *int) {
	l.taken[i] = true
	n := len(l.ends)/2 + i
	l.ends[n] = passed
	for n /= 2; n > 0; n /= 2 {
		l.ends[n] = max(l.ends[2*n], l.ends[2*n+1])
		*steps++
	}
}

// first is the place of the first read that is not taken, len(ops) of all where there is none.
func (l *readList) first(all int) int {
	for l.next < len(l.ops) && l.taken[l.next] {
		l.next++
	}
	if l.next == len(l.ops) {
		return all
	}
	return l.place[l.next]
}

// matchReads pairs one grant's reads, by invoke, with their effects, in the log's order. A
// process reads one at a time, so both are in the same order; the times tell which reads of
// unknown outcome never arrived. What the times leave over is paired in order, as in a log
// without times or with those of another clock.
func (m *readMatcher) matchReads(ops []*op, effects []*effect) {
	if len(ops) == 0 || len(effects) == 0 {
		return
	}
	for i := range m.of {
		m.of[i].reset()
	}
	for i, o := range ops {
		m.of[o.typ].add(o, i)
	}
	m.of[tOK].build()
	m.of[tFail].build()
	class := func(e *effect) *readList {
		if e.err() == "" {
			return &m.of[tOK]
		}
		return &m.of[tFail]
	}
	m.left = m.left[:0]
	for _, e := range effects {
		l := class(e)
		i := l.at(e.t, &m.steps)
		if i < 0 {
			m.left = append(m.left, e)
			continue
		}
		e.op = l.ops[i]
		l.take(i, &m.steps)
	}
	for _, e := range m.left {
		l, unknown := class(e), &m.of[tInfo]
		if unknown.first(len(ops)) < l.first(len(ops)) {
			l = unknown
		}
		if l.first(len(ops)) < len(ops) {
			e.op = l.ops[l.next]
			l.taken[l.next] = true
		}
	}
}
