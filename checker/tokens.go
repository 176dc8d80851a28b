package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// judgeTokens: do the fencing tokens rise in the order of the grants?
func judgeTokens(an *analysis, anomalies int) Property {
	with := 0
	for _, k := range an.locks {
		for _, g := range k.grants {
			if g.token != 0 {
				with++
			}
		}
	}
	switch {
	case an.stats.Grants == 0:
		return Property{Valid: Unknown, Why: "the lock was never granted"}
	case with == 0:
		return Property{Valid: Unknown, Why: kept(an, "the lock gives no tokens", "tokens are judged of a mutex only")}
	case anomalies > 0:
		return Property{Required: true, Why: fmt.Sprintf("%s: %s out of order", of(with, "token"), of(outOfOrder(an), "grant"))}
	case with < an.stats.Grants:
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("%s of %s carry no token", format.Count(an.stats.Grants-with), of(an.stats.Grants, "grant"))}
	case successions(an) == 0:
		return Property{Valid: Unknown, Required: true, Why: "no two grants of one lock came for certain one after the other, so that no two tokens could be compared"}
	}
	how := "each greater than all that were certainly granted before"
	if repeatsTokens(an) {
		how = "none smaller than one that was certainly granted before, and none of two clients"
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s, %s", of(with, "token"), how)}
}

// repeatsTokens says that two grants of one lock have the same token: a client may be given back what it holds already.
func repeatsTokens(an *analysis) bool {
	for _, k := range an.locks {
		seen := map[int64]bool{}
		for _, g := range k.grants {
			if g.token != 0 && seen[g.token] {
				return true
			}
			seen[g.token] = true
		}
	}
	return false
}

// outOfOrder counts the grants whose token is not above that of an earlier grant of their lock, or of one beside which they cannot stand.
func outOfOrder(an *analysis) int {
	newer := map[*grant]bool{}
	for _, found := range []map[*lock][]grantPair{an.tokens.regressed, an.tokens.reused, an.tokens.joint} {
		for _, pairs := range found {
			for _, p := range pairs {
				newer[p.newer] = true
			}
		}
	}
	return len(newer)
}

// successions counts the grants with a token that came for certain after another one of
// their lock that has one.
func successions(an *analysis) int {
	n := 0
	for _, k := range an.locks {
		first := never // ok of a grant with a token
		for _, g := range k.grants {
			if g.token != 0 {
				first = min(first, g.okT)
			}
		}
		for _, g := range k.grants {
			if g.token != 0 && g.lo > first {
				n++
			}
		}
	}
	return n
}
