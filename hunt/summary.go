package hunt

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// Failures counts the counterexamples by their class: those in which the lock breaks what it promises, and
// what any lease does.
func (r *Result) Failures() (bugs, hazards int) {
	for _, w := range r.Counterexamples {
		if w.Anomaly == LateWrite || (verdict.Group{Name: w.Anomaly, Cause: w.Cause}).Class() == verdict.Hazard {
			hazards++
		} else {
			bugs++
		}
	}
	return bugs, hazards
}

// Summary is a hunt in one sentence: what was found, or how far it was looked.
func (r *Result) Summary() string {
	if len(r.Counterexamples) > 0 {
		return fmt.Sprintf("%s: %s with --fencing %s", verdict.Failed(r.Failures()), r.Lock, r.Fencing)
	}
	var parts []string
	all, deepest := 0, -1
	for _, d := range r.Depths {
		all += d.Played - d.Void
		if d.Done {
			deepest = d.Faults
		}
	}
	if deepest >= 0 {
		n := 0
		for _, d := range r.Depths[:deepest+1] {
			n += d.Played - d.Void
		}
		parts = append(parts, fmt.Sprintf("none of the %d schedules with at most %d %s broke it", n, deepest, format.Noun(deepest, "fault", "faults")))
	}
	if rest := r.Plays - r.Void; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d schedules were played all together", rest))
	}
	if len(parts) == 0 {
		return "nothing was played"
	}
	return strings.Join(parts, "; ")
}
