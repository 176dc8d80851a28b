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
		if w.Hazard() {
			hazards++
		} else {
			bugs++
		}
	}
	return bugs, hazards
}

// Summary is a hunt in one sentence: the verdict, and what it found or covered.
func (r *Result) Summary() string {
	if len(r.Counterexamples) > 0 {
		return fmt.Sprintf("%s: %s with --fencing %s", verdict.Failed(r.Failures()), r.Lock, r.Fencing)
	}
	var parts []string
	all, deepest := 0, -1
	for _, d := range r.Depths {
		all += d.Ran - d.Discarded
		if d.Done {
			deepest = d.Faults
		}
	}
	if deepest >= 0 {
		n := 0
		for _, d := range r.Depths[:deepest+1] {
			n += d.Ran - d.Discarded
		}
		of := fmt.Sprintf("with at most %d %s", deepest, format.Noun(deepest, "fault", "faults"))
		if deepest == 0 {
			of = "without faults"
		}
		parts = append(parts, fmt.Sprintf("none of the %d schedules %s is a counterexample", n, of))
	}
	if rest := r.Runs - r.Discarded; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d runs in total", rest))
	}
	word := verdict.True.Word() + ": "
	if why := r.Unproved(); why != "" {
		word = verdict.Unknown.Word() + ": " + why
		if len(parts) > 0 {
			word += "; "
		}
	}
	return word + strings.Join(parts, "; ")
}
