package checker

// readMatcher pairs reads with their effects, grant after grant. Its lists are used again.
type readMatcher struct {
	of   [3]readList // by outcome
	left []*effect
	// apart: the log's clock is not the clients'.
	apart bool
	// Of the read that was looked at last: the position of the effect that it was answered with, -1
	// if there is none.
	asked  *op
	answer int
}

// readList is one grant's reads of one outcome, by invoke.
type readList struct {
	ops      []*op
	position []int // of each among all of the grant's reads
	next     int   // none before it is still to be taken
	taken    []bool
	ends     maxTree // of those that are not taken
}

func (l *readList) reset() {
	l.ops, l.position, l.taken, l.next = l.ops[:0], l.position[:0], l.taken[:0], 0
}

func (l *readList) add(o *op, position int) {
	l.ops, l.position, l.taken = append(l.ops, o), append(l.position, position), append(l.taken, false)
}

// at is the first read that is not taken and was under way at t; -1 where there is none.
func (l *readList) at(t int64) int {
	i := l.ends.first(0, max(t, none+1))
	// Of those that come after it none was invoked earlier.
	if i < 0 || l.ops[i].invT > t {
		return -1
	}
	return i
}

func (l *readList) take(i int) {
	l.taken[i] = true
	l.ends.set(i, none)
}

// first is the position of the first read that is not taken, len(ops) of all where there is none.
func (l *readList) first(all int) int {
	for l.next < len(l.ops) && l.taken[l.next] {
		l.next++
	}
	if l.next == len(l.ops) {
		return all
	}
	return l.position[l.next]
}

// anothers says that effect n, which came while o was under way, is that of an earlier read of unknown
// outcome that arrived late: it is not what o was answered, and a later one is.
func (m *readMatcher) anothers(o *op, effects []*effect, n int) bool {
	unknown := m.of[tInfo].ops
	if effects[n].value == o.value || len(unknown) == 0 || unknown[0].invT > effects[n].t {
		return false
	}
	if m.asked != o || m.answer >= 0 && m.answer < n {
		m.asked, m.answer = o, -1
		for i := n + 1; i < len(effects) && effects[i].t <= o.endT; i++ {
			if effects[i].err() == "" && effects[i].value == o.value {
				m.answer = i
				break
			}
		}
	}
	return m.answer > n
}

// matchReads pairs one grant's reads, by invoke, with their effects, in the log's order. A
// process reads one at a time, so both are in the same order; the times show which reads of
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
	for _, l := range []*readList{&m.of[tOK], &m.of[tFail]} {
		l.ends.build(len(l.ops), func(i int) int64 { return l.ops[i].endT })
	}
	class := func(e *effect) *readList {
		if e.err() == "" {
			return &m.of[tOK]
		}
		return &m.of[tFail]
	}
	m.left = m.left[:0]
	for n, e := range effects {
		l := class(e)
		i := -1
		if !m.apart || len(m.of[tInfo].ops) > 0 {
			i = l.at(e.t)
		}
		if i < 0 || e.err() == "" && m.anothers(l.ops[i], effects, n) {
			m.left = append(m.left, e)
			continue
		}
		e.op = l.ops[i]
		l.take(i)
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
