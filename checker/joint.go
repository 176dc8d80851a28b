package checker

import (
	"cmp"
	"slices"
)

// Exclusion and tokens can hold each for itself and not together: some order of the grants
// keeps them apart, another lets their tokens rise, and no order does both. Tokens that differ
// leave one order only, so that the earliest times at which each grant can begin and end
// follow from it.

// orOverlap is the cause of a token-regression that may be an overlap.
const orOverlap = "or-overlap"

// jointBreaks returns pairs of grants of a mutex of which the one with the greater token, here the older, was granted
// for certain before the other can have ended. A grant that ends late is paired with each such grant. Grants without a
// token are left out: they can only make an order harder to find.
func jointBreaks(grants []*grant) []grantPair { return jointWithin(grants, 0) }

// jointWithin is jointBreaks if each end may be later by slack.
func jointWithin(grants []*grant, slack int64) []grantPair {
	var out []grantPair
	var last *grant // of those before, the one that ends last
	until := int64(-1)
	for _, g := range byToken(grants) {
		if last != nil && satAdd(until, slack) > g.okT {
			out = append(out, grantPair{older: g, newer: last})
		}
		if ends := g.endsAfter(); ends > until {
			until, last = ends, g
		}
	}
	return out
}

// endsAfter is the earliest instant at which the grant can end: not before it can have been given.
func (g *grant) endsAfter() int64 { return max(g.lo, g.heldTo()) }

// findJoint looks for joint breaks of the locks whose tokens and exclusion hold each for itself.
func (t *tokens) findJoint(locks []*lock, o *overlaps) {
	broken := o.locks()
	for _, k := range locks {
		if !k.mutex() || t.unsound(k) || broken[k] {
			continue
		}
		if found := jointBreaks(k.grants); len(found) > 0 {
			t.joint[k] = found
		}
	}
}

// doubtJoint doubts the tokens of the locks that may have a joint break by some shift of the clocks. None is certain: some other
// shift may break exclusion instead.
func (t *tokens) doubtJoint(locks []*lock, skew int64) {
	for _, k := range locks {
		if k.mutex() && len(jointWithin(k.grants, jointSlack*skew)) > 0 {
			t.doubted[k] = true
		}
	}
}

// orRegressed says that only the tokens make old the older of two grants: it was in force longer than the other can have
// taken to be granted. Where the lock's exclusion is broken elsewhere, that may be so here, or the tokens are wrong. In a widened
// history it says that some shift of the clocks may make it so.
func (an *analysis) orRegressed(old, young *grant) bool {
	slack := int64(0)
	if an.opt.widened {
		slack = jointSlack * an.clocks.skew
	}
	if old.token == 0 || young.token == 0 || satAdd(old.okT, slack) <= young.okT || satAdd(old.heldTo(), slack) <= young.okT {
		return false
	}
	_, both := old.bothAlive(young)
	return !both || slack > 0
}

// eitherOlder says the same of two grants of which nothing else tells the older one.
func (an *analysis) eitherOlder(a, b *grant) bool {
	if b.token < a.token {
		a, b = b, a
	}
	return an.opt.widened && an.orRegressed(a, b)
}

// jointSlack is how many skews the times of two widened grants may be apart: each is off by a half each way.
const jointSlack = 4

// byToken orders the grants that have a token by it.
func byToken(grants []*grant) []*grant {
	out := slices.DeleteFunc(slices.Clone(grants), func(g *grant) bool { return g.token <= 0 })
	slices.SortStableFunc(out, func(a, b *grant) int { return cmp.Compare(a.token, b.token) })
	return out
}
