package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// Exclusion and tokens can hold each for itself and not together: some order of the grants
// keeps them apart, another lets their tokens rise, and no order does both. Tokens that differ
// leave one order only, so that the earliest times at which each grant can begin and end
// follow from it.

// jointBreak finds two grants of a mutex of which the one with the greater token was granted
// for certain before the other can have ended; nil, nil where there are none. Grants without
// a token are left out: they can only make an order harder to find.
func jointBreak(grants []*grant) (earlier, later *grant) {
	var last *grant // of those before, the one that ends last
	until := int64(-1)
	for _, g := range byToken(grants) {
		if last != nil && until > g.okT {
			return last, g
		}
		// It begins once the others have ended, and not before it can have been given.
		if ends := max(g.lo, g.heldTo()); ends > until {
			until, last = ends, g
		}
	}
	return nil, nil
}

// byToken orders the grants that have a token by it.
func byToken(grants []*grant) []*grant {
	out := slices.DeleteFunc(slices.Clone(grants), func(g *grant) bool { return g.token <= 0 })
	slices.SortStableFunc(out, func(a, b *grant) int { return cmp.Compare(a.token, b.token) })
	return out
}

// checkTogether withdraws the verdict on tokens where they and exclusion hold only one
// without the other. Which of the two is broken, nobody can say.
func checkTogether(an *analysis, v *Verdict) {
	e, t := v.Properties[Exclusion], v.Properties[Tokens]
	if e.Valid != True || t.Valid != True {
		return
	}
	for _, k := range an.locks {
		if !k.mutex() {
			continue
		}
		a, b := jointBreak(k.grants)
		if a == nil {
			continue
		}
		t.Valid = Unknown
		t.Why = fmt.Sprintf("no order of the grants of %s keeps them apart and lets their tokens rise too: %s of %s (token %d) cannot have ended before %s, and %s of %s (token %d) was granted by %s. Exclusion or tokens is broken, and nothing says which",
			k.name, a.id, a.process, a.token, format.Instant(max(a.lo, a.heldTo())), b.id, b.process, b.token, format.Instant(b.okT))
		v.Properties[Tokens] = t
		return
	}
}
