package checker

import (
	"cmp"
	"slices"
)

// certainlyOlder says that a was granted before b whatever happened inside the
// service: its ok precedes the earliest instant at which b can have been given.
// Where the key's tokens are sound and both have one, the tokens say it.
func (ix *index) certainlyOlder(a, b *grant) bool {
	if a.token != 0 && b.token != 0 && !ix.tokensUnsound(a.lock.name) {
		return a.token < b.token
	}
	return a.okT < b.lo
}

// orderProof is the event, if any, that certainlyOlder(a, b) rests on besides the
// two oks.
func (ix *index) orderProof(a, b *grant) int32 {
	if a.token != 0 && b.token != 0 && !ix.tokensUnsound(a.lock.name) {
		return -1
	}
	return b.loProof()
}

// loProof is the acquire's invoke where nothing later bounds the grant.
func (g *grant) loProof() int32 {
	if g.inv >= 0 && g.lo == g.invT && (g.lease == 0 || g.since < g.invT) {
		return g.inv
	}
	return -1
}

// tokensUnsound says that the key's tokens contradict the order of its grants, so
// that they cannot order anything else.
func (ix *index) tokensUnsound(key string) bool {
	if ix.unsound == nil {
		ix.unsound = map[string]bool{}
		for _, k := range ix.keys {
			if len(regressions(k.grants)) > 0 || len(reuses(k.grants)) > 0 {
				ix.unsound[k.name] = true
			}
		}
	}
	return ix.unsound[key]
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

// reuses returns every grant whose token another one had been given before.
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
	for _, g := range grants {
		if g.token == 0 {
			continue
		}
		if f := first[g.token]; f != nil {
			out = append(out, grantPair{f, g})
		} else {
			first[g.token] = g
		}
	}
	return out
}
