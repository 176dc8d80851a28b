package hunt

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// Failures counts the ways by their class: those in which the lock breaks what it promises, and
// what any lease does.
func (r *Result) Failures() (bugs, hazards int) {
	for _, w := range r.Ways {
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
	if n := len(r.Ways); n > 0 {
		bugs, hazards := r.Failures()
		what := fmt.Sprintf("breaks in %d %s", n, format.Noun(n, "way", "ways"))
		if bugs == 0 {
			what = "lets a client write after its lease, as any lease does"
		}
		return fmt.Sprintf("%s. %s with --fencing %s %s", verdict.Failed(bugs, hazards), r.Lock, r.Fencing, what)
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
