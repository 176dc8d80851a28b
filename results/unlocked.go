package results

import (
	"fmt"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/format"
)

// headlineUnlocked is the headline of a run in which clients shared the register
// without a lock.
func headlineUnlocked(way, faults string, v checker.Verdict) string {
	word := v.Valid.Word() + ". "
	what := map[checker.Validity]string{
		checker.True:  "no acknowledged update was lost",
		checker.False: "the register broke",
	}[v.Valid]
	if what == "" {
		what = "nothing is proved"
	}
	if faults == "" {
		return word + fmt.Sprintf("Without a lock (%s) %s. No fault was injected.", way, what)
	}
	return word + fmt.Sprintf("Without a lock (%s) %s under %s.", way, what, faults)
}

// countsUnlocked is the summary's line of figures.
func countsUnlocked(s checker.Stats) string {
	return fmt.Sprintf("  %s acknowledged (%s contested), %s carried out, %s refused, %s of unknown outcome\n",
		plainCount(s.Acknowledged, "update", "updates"), format.Count(s.Contested), plainCount(s.Writes, "update", "updates"), format.Count(s.Rejected), format.Count(s.Unknown))
}

// leadUnlocked says what the headline of such a run rests on, where it held.
func leadUnlocked(s checker.Stats) string {
	return fmt.Sprintf("%s acknowledged, %s of them contested; %s carried out, %s refused. The register is all that was judged, and it holds.",
		plural(s.Acknowledged, "update", "updates"), format.Count(s.Contested), plural(s.Writes, "update", "updates"), format.Count(s.Rejected))
}
