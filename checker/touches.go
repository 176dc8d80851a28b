package checker

import "slices"

// touch is one operation that reached the resource: an effect of the register's
// log, or an acknowledged operation where there is no log.
type touch struct {
	g   *grant
	op  *op
	eff *effect
	t   int64
}

// rising remembers the first touch that raised a value, so that "the first touch
// above v" is a binary search.
type rising struct {
	touches []touch
	values  []int64
}

func (r *rising) add(t touch, v int64) {
	if n := len(r.values); n == 0 || r.values[n-1] < v {
		r.touches = push(r.touches, t)
		r.values = push(r.values, v)
	}
}

// above is the first touch above v by a grant that counts. A bound keeps a hostile history from making this quadratic.
func (r *rising) above(v int64, counts func(*grant) bool) (touch, bool) {
	i, _ := slices.BinarySearch(r.values, v+1)
	for _, t := range r.touches[i:min(len(r.touches), i+maxBetween)] {
		if counts(t.g) {
			return t, true
		}
	}
	return touch{}, false
}

// newest keeps, of all grants that touched the resource so far, what is needed to
// say whether one of them is certainly newer than a given grant.
type newest struct {
	sound bool // the key's tokens order its grants
	// mixed: they do, but some grants have none. Only those are compared by time.
	mixed                     bool
	byToken, byLo, byLoNoToke rising
}

func newestOf(an *analysis, k *lock) newest {
	return newest{
		sound: !an.tokens.unsound(k),
		mixed: slices.ContainsFunc(k.grants, func(g *grant) bool { return g.token == 0 }),
	}
}

func (n *newest) add(t touch) {
	if n.sound && t.g.token != 0 {
		n.byToken.add(t, t.g.token)
	} else {
		n.byLoNoToke.add(t, t.g.lo)
	}
	if n.mixed || !n.sound {
		n.byLo.add(t, t.g.lo)
	}
}

// than returns the earliest touch of a grant that counts and is certainly newer than g.
func (n *newest) than(g *grant, counts func(*grant) bool) (touch, bool) {
	if !n.sound || g.token == 0 {
		return n.byLo.above(g.okT, counts)
	}
	a, okA := n.byToken.above(g.token, counts)
	b, okB := n.byLoNoToke.above(g.okT, counts)
	if okA && (!okB || a.before(b)) {
		return a, true
	}
	return b, okB
}

// touched are the touches of a lock's resource: of all grants, and of those that share the lock with nobody, since of two that
// share it either may be written under.
type touched struct{ all, alone newest }

func touchedOf(an *analysis, k *lock) touched { return touched{newestOf(an, k), newestOf(an, k)} }

func (s *touched) add(t touch) {
	if s.all.add(t); t.g.mode != shared {
		s.alone.add(t)
	}
}

// newer is the earliest touch by which a write under g is stale.
func (s *touched) newer(an *analysis, g *grant) (touch, bool) {
	n := &s.all
	if g.mode == shared {
		n = &s.alone
	}
	return n.than(g, func(o *grant) bool { return !together(o, g) && !an.orRegressed(g, o) })
}

func (t touch) before(u touch) bool {
	if t.eff != nil { // u has one, too
		return t.eff.seq < u.eff.seq
	}
	return t.t < u.t
}
