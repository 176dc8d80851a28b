package hunt

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// Failures counts the counterexamples by their class: those in which the lock breaks what it promises,
// what any lease does, and faults of the resource.
func (r *Result) Failures() (bugs, hazards, resource int) {
	for _, w := range r.Counterexamples {
		switch w.Class() {
		case verdict.Hazard:
			hazards++
		case verdict.ResourceFault:
			resource++
		default:
			bugs++
		}
	}
	return bugs, hazards, resource
}

// Summary is a hunt in one sentence: the verdict, and what it found or covered.
func (r *Result) Summary() string {
	if len(r.Counterexamples) > 0 {
		return fmt.Sprintf("%s: %s with --fencing %s", verdict.Failed(r.Failures()), r.Lock, r.Fencing)
	}
	word := verdict.True.Word() + ": "
	if why := r.Unproved(); why != "" {
		word = verdict.Unknown.Word() + ": " + why + "; "
	}
	word += "no counterexample in " + r.Covered()
	if untried := r.Untried(); len(untried) > 0 && len(untried) < len(r.FaultRuns) { // else the counts say it
		word += "; not tried: " + format.And(untried)
	}
	if sought := r.Sought(); sought != "" {
		word += "; " + sought
	}
	return word
}

// Sought says what alone was looked for; "" for all that breaks a required property.
func (r *Result) Sought() string {
	switch {
	case len(r.Find) > 0:
		sought := "looked for nothing but " + format.And(r.Find)
		if n := r.unshown(); len(n) > 0 && len(n) < len(r.Find) {
			sought += ", of which no run can have shown " + format.And(n)
		}
		return sought
	case r.IgnoreHazards:
		return "lease hazards were not looked for"
	}
	return ""
}

// Covered says of how many schedules how many were run as planned, by the number of faults.
func (r *Result) Covered() string {
	var parts []string
	for _, d := range r.Depths {
		if d.Space == 0 {
			continue
		}
		of := format.Count(d.Ran) + " of " + format.Count(d.Space) + " "
		if len(parts) == 0 {
			of += format.Noun(d.Space, "schedule", "schedules") + " "
		}
		parts = append(parts, of+withFaults(d.Faults))
	}
	if r.Guided > 0 || len(parts) == 0 {
		n := r.Guided - r.GuidedDiscarded
		parts = append(parts, format.Count(n)+" guided "+format.Noun(n, "schedule", "schedules"))
	}
	return strings.Join(parts, ", ")
}

func withFaults(n int) string {
	if n == 0 {
		return "without faults"
	}
	return fmt.Sprintf("with %d %s", n, format.Noun(n, "fault", "faults"))
}
