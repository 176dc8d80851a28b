package checker

import (
	"cmp"
	"slices"
)

// tokens is what the locks' fencing tokens say of the order of their grants.
type tokens struct {
	regressed, reused map[*lock][]grantPair // see regressions and reuses; only where there are any
	doubted           map[*lock]bool        // they may contradict it, within the skew of the clocks
	joint             map[*lock][]grantPair // see jointBreaks; only where there are any
}

func newTokens(locks []*lock) tokens {
	t := tokens{regressed: map[*lock][]grantPair{}, reused: map[*lock][]grantPair{}, joint: map[*lock][]grantPair{}}
	for _, k := range locks {
		if found := regressions(k.grants); len(found) > 0 {
			t.regressed[k] = found
		}
		if found := reuses(k.grants); len(found) > 0 {
			t.reused[k] = found
		}
	}
	return t
}

// unsound says that the lock's tokens contradict the order of its grants, so that they
// cannot order anything else.
func (t *tokens) unsound(k *lock) bool {
	return len(t.regressed[k]) > 0 || len(t.reused[k]) > 0 || len(t.joint[k]) > 0 || t.doubted[k]
}

// order says whether the tokens of two grants order them.
func (t *tokens) order(a, b *grant) bool {
	return a.token != 0 && b.token != 0 && !t.unsound(a.lock)
}

// certainlyOlder says that a was granted before b whatever happened inside the
// service: its ok precedes the earliest instant at which b can have been given.
// Where the key's tokens are sound and both have one, the tokens say it.
func (t *tokens) certainlyOlder(a, b *grant) bool {
	if t.order(a, b) {
		return a.token < b.token
	}
	return a.okT < b.lo
}

// orderProof is the event, if any, that certainlyOlder(a, b) rests on besides the
// two oks.
func (t *tokens) orderEvidence(a, b *grant) int32 {
	if t.order(a, b) {
		return -1
	}
	return b.loEvidence()
}

// loProof is the acquire's invoke where nothing later bounds the grant.
func (g *grant) loEvidence() int32 {
	if g.inv >= 0 && g.lo == g.invT && (g.lease == 0 || g.since < g.invT) {
		return g.inv
	}
	return -1
}

// grantPair is two grants that contradict each other.
type grantPair struct{ older, newer *grant }

// regressions returns, for every grant that carries a smaller token than one
// that was certainly granted before it, the pair with the greatest such token.
// There is an order of the grants by which all tokens rise, and that agrees with
// real time, if and only if this and reuses find nothing.
func regressions(grants []*grant) []grantPair {
	byOk := make([]*grant, 0, len(grants))
	for _, g := range grants {
		if g.token != 0 {
			byOk = append(byOk, g)
		}
	}
	sortBy(byOk, func(g *grant) int64 { return g.okT })
	if slices.IsSortedFunc(byOk, func(a, b *grant) int { return cmp.Compare(a.token, b.token) }) {
		return nil // what was granted before has been answered before
	}
	byLo := slices.Clone(byOk)
	sortBy(byLo, func(g *grant) int64 { return g.lo })
	var out []grantPair
	var top *grant
	i := 0
	for _, g := range byLo {
		for ; i < len(byOk) && byOk[i].okT < g.lo; i++ {
			if top == nil || byOk[i].token > top.token {
				top = byOk[i]
			}
		}
		if top != nil && top.token > g.token {
			out = append(out, grantPair{top, g})
		}
	}
	return out
}

// reuses returns every grant whose token another one had been given before. A client that is given
// back what it holds may be given its token, too: no other client has it. The list can have any order.
func reuses(grants []*grant) []grantPair {
	if rising := func() bool {
		last := int64(0)
		for _, g := range grants {
			if g.token != 0 && g.token <= last {
				return false
			}
			last = max(last, g.token)
		}
		return true
	}; rising() {
		return nil
	}
	first := map[int64]*grant{}
	var out []grantPair
	byOk := slices.Clone(grants)
	// Of two answers at one instant, the one that is first among its lock's is the older one (linkOwn).
	slices.SortFunc(byOk, func(a, b *grant) int { return cmp.Or(cmp.Compare(a.okT, b.okT), cmp.Compare(a.n, b.n)) })
	for _, g := range byOk {
		if g.token == 0 {
			continue
		}
		if f := first[g.token]; f != nil && f.anew == g && f.goesOn() {
			first[g.token] = g
		} else if f != nil {
			out = append(out, grantPair{f, g})
		} else {
			first[g.token] = g
		}
	}
	return out
}
