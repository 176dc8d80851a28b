package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
)

// covered says how much of the space was run, what became of the rest, and at what cost.
func covered(r *hunt.Result) []string {
	var out []string
	for _, d := range r.Depths {
		if d.Space > 0 {
			out = append(out, depthWords(d))
		}
	}
	if r.Guided > 0 {
		text := fmt.Sprintf("%s guided %s beyond these", format.Count(r.Guided), format.Noun(r.Guided, "schedule", "schedules"))
		if r.GuidedDiscarded > 0 {
			text += fmt.Sprintf(": %s discarded", format.Count(r.GuidedDiscarded))
		}
		out = append(out, text)
	}
	text := fmt.Sprintf("%s runs with those that confirm a failure: %s discarded, %s of them because this machine was busy", format.Count(r.Runs), format.Count(r.Discarded), format.Count(r.Busy))
	if r.Failed > 0 {
		text += fmt.Sprintf("; picklock failed in %s more (%s)", format.Count(r.Failed), clip(r.FailedWhy))
	}
	out = append(out, text, fmt.Sprintf("%s states seen", format.Count(r.States)))
	text = fmt.Sprintf("%.1f runs a second", float64(r.Searched)/max(0.1, r.Seconds))
	if r.CPU > 0 && r.Searched > 0 {
		text += fmt.Sprintf(", %.2f s of processor time each", r.CPU/float64(r.Searched))
	}
	if used := r.Used(); r.Runs > 0 && used > 0 && used <= 1 { // a hunt of a second used more to start its servers
		text += fmt.Sprintf(" (%.0f %% of the processors)", 100*used)
	}
	return append(out, text)
}

// depthWords is the coverage of the schedules with so many faults. Its counts add up to the space.
func depthWords(d hunt.Depth) string {
	of := fmt.Sprintf("with %d %s", d.Faults, format.Noun(d.Faults, "fault", "faults"))
	if d.Faults == 0 {
		of = "without faults"
	}
	text := fmt.Sprintf("%s of %s %s %s ran", format.Count(d.Ran), format.Count(d.Space), format.Noun(d.Space, "schedule", "schedules"), of)
	if d.All() {
		text += " (all)"
	}
	var rest []string
	for _, x := range []struct {
		n    int
		what string
	}{{d.Discarded, "discarded"}, {d.Failed, "failed to run"}, {d.Infeasible, "infeasible"}, {d.Implied, "implied by a smaller one"}, {d.NotReached, "not reached"}} {
		if x.n > 0 {
			rest = append(rest, format.Count(x.n)+" "+x.what)
		}
	}
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, ", ")
	}
	return text
}

// mostReasons is how many reasons of a kind people are shown; hunt.json has all.
const mostReasons = 3

// uncovered are the reasons for what was run and proves nothing, and for what was left out: of each
// kind those that most schedules have.
func uncovered(r *hunt.Result) []string {
	total, shown := map[string]int{}, map[string][]hunt.Uncovered{}
	for _, u := range r.Uncovered {
		total[u.What] += u.Schedules
		same := slices.IndexFunc(shown[u.What], func(o hunt.Uncovered) bool { return o.Why == u.Why }) // with more faults
		if same < 0 {
			shown[u.What] = append(shown[u.What], u)
			continue
		}
		shown[u.What][same].Schedules += u.Schedules
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(total)) {
		of := shown[what]
		slices.SortStableFunc(of, func(a, b hunt.Uncovered) int { return b.Schedules - a.Schedules })
		for _, u := range of[:min(len(of), mostReasons)] {
			out = append(out, fmt.Sprintf("%s %s: %s", format.Count(u.Schedules), what, clip(u.Why)))
			total[what] -= u.Schedules
		}
		if more := len(of) - mostReasons; more > 0 {
			out = append(out, fmt.Sprintf("%s %s for %s other %s (hunt.json)", format.Count(total[what]), what, format.Count(more), format.Noun(more, "reason", "reasons")))
		}
	}
	return out
}
