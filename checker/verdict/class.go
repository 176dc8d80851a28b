package verdict

import (
	"fmt"
	"slices"
)

// Class is what kind of failure a group of anomalies is.
type Class string

const (
	// Bug is a lock bug: the lock broke what it promises.
	Bug Class = "bug"
	// Hazard is a lease hazard: what any lease does whose client is paused, cut off or slow for
	// longer than it lasts. Only the resource can refuse it, by fencing
	// (Kleppmann, How to do distributed locking, 2016).
	Hazard Class = "hazard"
)

// Class says which kind the group is. What two sections that interleaved prove alone is no bug:
// where the lock let two in, a broken exclusion is the deeper cause and stands in its own group.
func (g Group) Class() Class {
	late := []string{"stale-write", "lost-update", "two-holders"}
	locks := []string{"granted-early", "renewed-late", "wrong-release"}
	if slices.Contains(late, g.Name) && !slices.Contains(locks, g.Cause) {
		return Hazard
	}
	return Bug
}

// Failures counts the root causes that decide the verdict, by their class.
func (v Verdict) Failures() (bugs, hazards int) {
	if v.Valid != False {
		return 0, 0
	}
	for _, g := range v.Groups() {
		switch {
		case !g.Required:
		case g.Class() == Hazard:
			hazards++
		default:
			bugs++
		}
	}
	return bugs, hazards
}

// Word is the verdict in one word for whoever reads it: pass, fail or unknown.
func (v Verdict) Word() string {
	switch v.Valid {
	case True:
		return "PASS"
	case False:
		bugs, hazards := v.Failures()
		return fmt.Sprintf("FAIL: %s, %s", some(bugs, "lock bug"), some(hazards, "lease hazard"))
	}
	return "UNKNOWN"
}

func some(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
