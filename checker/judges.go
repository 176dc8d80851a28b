package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// property is a property of a lock, and how it is judged.
type property struct {
	name string
	// judge decides from the number of its anomalies, and says in words what that rests
	// on: a verdict of true rests on attempts that would have shown a break. Where there
	// was none, it is unknown.
	judge func(an *analysis, anomalies int) Property
}

// judges is the table of all properties, in the order of Properties.
// found counts the anomalies by name.
func judges(found map[string]int) []property {
	return []property{
		{Exclusion, func(an *analysis, _ int) Property { return judgeExclusion(an, found) }},
		{Belief, judgeBelief},
		{Tokens, judgeTokens},
		{Register, judgeRegister},
		{Liveness, judgeLiveness},
	}
}

// decide decides one property from the number of its anomalies.
func (p property) decide(an *analysis, anomalies int) Property {
	out := p.judge(an, anomalies)
	if anomalies > 0 {
		out.Valid = False
	}
	if k := ambiguous(an); k != nil && out.Valid == True && (p.name == Exclusion || p.name == Belief) {
		out.Valid, out.Why = Unknown, fmt.Sprintf("the grants of %s say of more than one kind of lock that it is", k.name)
	}
	if k := permitsDiffer(an); k != nil && out.Valid == True && (p.name == Exclusion || p.name == Belief) {
		out.Valid, out.Why = Unknown, fmt.Sprintf("the grants of %s say several numbers of permits", k.name)
	}
	out.Anomalies = anomalies
	return out
}

// permitsDiffer is a semaphore of which its grants say several numbers of permits, nil if there is none.
func permitsDiffer(an *analysis) *lock {
	if i := slices.IndexFunc(an.locks, func(k *lock) bool { return k.severalN }); i >= 0 {
		return an.locks[i]
	}
	return nil
}

// ambiguous is a lock of which its grants say several things, nil if there is none.
func ambiguous(an *analysis) *lock {
	for _, k := range an.locks {
		if k.capacity() == nil {
			return k
		}
	}
	return nil
}

// whyUncontested says why no grant was contested: otherwise, unless clients asked for the lock while another one had it.
func whyUncontested(an *analysis, otherwise string) string {
	if asked, _ := askedWhileHeld(an); asked > 0 {
		return "no client that asked for the lock while another one had it was granted it by that request"
	}
	return otherwise
}

func contention(an *analysis) string {
	return fmt.Sprintf("%s, %s contested", of(an.stats.Grants, "grant"), format.Count(an.stats.Contested))
}
