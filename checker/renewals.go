package checker

import (
	"cmp"
	"slices"
)

// renewals are a grant's, by the time of their ok, with what is asked of them again and again:
// a grant can have very many, and stand beside very many others.
type renewals struct {
	list []renewal
	// Of each and all before, the greatest: end of a promise; end of what one shows by which
	// the service says that the grant was in force; and time of the service's last word.
	reach, proved, word []int64
	shorter             []shortening // by findAlive
}

func (l *renewals) add(r renewal) {
	top := func(list []int64, v int64) []int64 {
		if n := len(list); n > 0 {
			v = max(v, list[n-1])
		}
		return push(list, v)
	}
	proved, word := int64(0), r.heldUntil
	if r.held {
		proved = max(r.until, r.heldUntil)
	}
	if r.inv >= 0 {
		word = r.invT
	}
	l.list = push(l.list, r)
	l.reach, l.proved, l.word = top(l.reach, r.until), top(l.proved, proved), top(l.word, word)
}

// before is how many were answered by t.
func (l *renewals) before(t int64) int {
	if l == nil {
		return 0
	}
	n, _ := slices.BinarySearchFunc(l.list, t, func(r renewal, t int64) int {
		if r.okT <= t {
			return -1
		}
		return 1
	})
	return n
}

// promisesBeyond is the first that promised the lease beyond t; nil if none did.
func (l *renewals) promisesBeyond(t int64) *renewal {
	if l == nil {
		return nil
	}
	return l.firstAbove(l.reach, t)
}

// askedBeyond is the first that had been asked for by t and promised the lease beyond t, then or later;
// nil if none did. A bound keeps a hostile history from making this quadratic.
func (l *renewals) askedBeyond(t int64) *renewal {
	r := l.promisesBeyond(t)
	if r == nil || r.heldUntil <= t {
		return r
	}
	n := l.before(t)
	for i := n; i < min(len(l.list), n+maxBetween); i++ {
		if r := &l.list[i]; r.heldUntil <= t && r.until > t {
			return r
		}
	}
	return nil
}

// provesBeyond is the first by which the service itself said that the grant was in force
// beyond t; nil if none did.
func (l *renewals) provesBeyond(t int64) *renewal {
	if l == nil {
		return nil
	}
	return l.firstAbove(l.proved, t)
}

// furthest is the one that promised most of those that were answered by t; nil if there is none.
func (l *renewals) furthest(t int64) *renewal {
	if n := l.before(t); n > 0 {
		return l.firstAbove(l.reach, l.reach[n-1]-1)
	}
	return nil
}

// provesMost is the one by which the service itself said for the longest that the grant was in
// force; nil if none did.
func (l *renewals) provesMost() *renewal {
	if l == nil {
		return nil
	}
	if most := l.proved[len(l.proved)-1]; most > 0 {
		return l.firstAbove(l.proved, most-1)
	}
	return nil
}

func (l *renewals) firstAbove(rising []int64, t int64) *renewal {
	if i, _ := slices.BinarySearchFunc(rising, t, func(v, t int64) int { return cmp.Or(cmp.Compare(v, t), -1) }); i < len(rising) {
		return &l.list[i]
	}
	return nil
}

// promised is the end of the furthest promise; 0 for none.
func (l *renewals) promised() int64 {
	if l == nil {
		return 0
	}
	return l.reach[len(l.reach)-1]
}

// unsaidBy says that the last renewal that was answered by t does not say for how long: the lease may go on beyond what was promised.
func (l *renewals) unsaidBy(t int64) bool {
	n := l.before(t)
	return n > 0 && l.list[n-1].lease == 0
}
