package results

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// The files of a folder of several runs.
const RunsFile = "runs.json"

// Runs is the same experiment made several times with different seeds: what runs.json
// holds.
type Runs struct {
	Lock    string   `json:"lock"`
	Command []string `json:"command"` // of all of them
	Dir     string   `json:"dir"`
	Asked   int      `json:"asked"`            // how many runs were wanted
	OnBug   bool     `json:"on_bug,omitempty"` // only a lock bug counts as a failure
	Runs    []OneRun `json:"runs"`             // those that were begun
	Rate    Rate     `json:"rate"`
}

// OneRun is what came of one of them.
type OneRun struct {
	Seed      uint64           `json:"seed"`
	Valid     checker.Validity `json:"valid"`
	Promises  checker.Validity `json:"promises"` // Valid without lease hazards and faults of the resource
	Bugs      int              `json:"lock_bugs"`
	Hazards   int              `json:"lease_hazards"`
	Resource  int              `json:"resource_faults,omitempty"`
	Why       string           `json:"why,omitempty"` // of an unknown one
	Anomalies map[string]int   `json:"anomalies"`     // by name
	Sentence  string           `json:"sentence,omitempty"`
	Grants    int              `json:"grants"`
	Seconds   float64          `json:"seconds"` // by the history
	Dir       string           `json:"dir"`
	Report    string           `json:"report,omitempty"`
}

// Rate is the share of failed runs among those that were decided, and the interval that holds the true share with a confidence of 95 % (Clopper and Pearson's,
// which never claims too much). Runs of unknown outcome are no part of it.
type Rate struct {
	Failed  int     `json:"failed"`
	Passed  int     `json:"passed"`
	Unknown int     `json:"unknown"`
	Share   float64 `json:"share"` // 0 where nothing was decided
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// RateOf counts runs. If onBug, a lease hazard is no failure.
func RateOf(runs []OneRun, onBug bool) Rate {
	var r Rate
	for _, one := range runs {
		decided := one.Valid
		if onBug && one.Resource == 0 {
			decided = one.Promises
		}
		switch decided {
		case checker.True:
			r.Passed++
		case checker.False:
			r.Failed++
		default:
			r.Unknown++
		}
	}
	n := r.Failed + r.Passed
	if n > 0 {
		r.Share = float64(r.Failed) / float64(n)
	}
	r.Low, r.High = interval(r.Failed, n)
	return r
}

// interval bounds a share of which k of n were seen, with a confidence of 95 %.
func interval(k, n int) (low, high float64) {
	const tail = 0.025
	// Both tails grow or fall with p, so that halving finds where they are that small.
	solve := func(below func(p float64) bool) float64 {
		lo, hi := 0.0, 1.0
		for range 60 {
			if mid := (lo + hi) / 2; below(mid) {
				lo = mid
			} else {
				hi = mid
			}
		}
		return (lo + hi) / 2
	}
	low, high = 0, 1
	if k > 0 {
		low = solve(func(p float64) bool { return atLeast(k, n, p) < tail })
	}
	if k < n {
		high = solve(func(p float64) bool { return 1-atLeast(k+1, n, p) > tail })
	}
	return low, high
}

// atLeast is the probability of k or more of n where each has the probability p.
func atLeast(k, n int, p float64) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		all, _ := math.Lgamma(float64(n + 1))
		some, _ := math.Lgamma(float64(i + 1))
		rest, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - some - rest + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}

// Validity is that of all runs together: one that failed decides.
func (r Runs) Validity() checker.Validity {
	switch {
	case r.Rate.Failed > 0:
		return checker.False
	case r.Rate.Unknown > 0 || len(r.Runs) < r.Asked || len(r.Runs) == 0:
		return checker.Unknown
	}
	return checker.True
}

// Line is what a terminal shows of one run.
func (r OneRun) Line(color bool) string {
	word := r.Valid.Word()
	switch r.Valid {
	case checker.False:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(r.Anomalies)) {
			parts = append(parts, fmt.Sprintf("%s × %d", verdict.Shown(clip(name, 60)), r.Anomalies[name]))
		}
		word = verdict.Failed(r.Bugs, r.Hazards, r.Resource) + ": " + strings.Join(parts, ", ")
	case checker.Unknown:
		word += ": " + clip(r.Why, 200)
	}
	where := firstNonEmpty(r.Report, r.Dir)
	return fmt.Sprintf("%s seed %d %s (%s)", paint(color).sign(r.Valid), r.Seed, word, clean(where))
}

func (r OneRun) class() verdict.Class {
	switch {
	case r.Bugs > 0:
		return verdict.Bug
	case r.Resource > 0:
		return verdict.ResourceFault
	}
	return verdict.Hazard
}

// RunsSummary writes what a terminal shows at the end of several runs.
func RunsSummary(w io.Writer, r Runs, color bool) error {
	var b strings.Builder
	p := paint(color)
	fmt.Fprintf(&b, "\n%s %s\n", p.sign(r.Validity()), p.bold(fmt.Sprintf("%s: the %s lock: %s", r.Validity().Word(), clip(r.Lock, 120), r.words())))
	if len(r.Runs) < r.Asked {
		fmt.Fprintf(&b, "  interrupted after %d of %d runs\n", len(r.Runs), r.Asked)
	}
	fmt.Fprintf(&b, "  %s\n", clean(filepath.Join(r.Dir, RunsFile)))
	_, err := io.WriteString(w, b.String())
	return err
}

// words are those of the rate, and what counts as a failure.
func (r Runs) words() string {
	if r.OnBug {
		return r.Rate.words() + "; only a lock bug is a failure (--fail-on bug)"
	}
	return r.Rate.words()
}

func (r Rate) words() string {
	n := r.Failed + r.Passed
	text := "no run is decided"
	if n > 0 {
		text = fmt.Sprintf("%d of %s failed, %s %% (%s to %s %% with a confidence of 95 %%)", r.Failed, plural(n, "decided run", "decided runs"),
			format.Digits(100*r.Share), format.Digits(100*r.Low), format.Digits(100*r.High))
	}
	if r.Unknown > 0 {
		text += fmt.Sprintf("; %d unknown", r.Unknown)
	}
	return text
}

// WriteRuns writes runs.json, and junit.xml with a case for each run.
func WriteRuns(r Runs) error {
	d := &Dir{path: r.Dir}
	if err := d.writeJSON(RunsFile, r); err != nil {
		return err
	}
	s := JUnitSuite{Name: "picklock." + firstNonEmpty(clip(r.Lock, 200), "unnamed"), Tests: len(r.Runs)}
	seconds := 0.0
	for _, one := range r.Runs {
		c := JUnitCase{Name: fmt.Sprintf("seed %d", one.Seed), Class: s.Name, Time: fmt.Sprintf("%.3f", one.Seconds)}
		seconds += one.Seconds
		switch one.Valid {
		case checker.False:
			s.Failures++
			c.Failure = &JUnitFailure{Message: clip(one.Line(false), 500), Type: one.class().Title(), Text: clip(one.Sentence, 2000)}
		case checker.Unknown:
			s.Skipped++
			c.Skipped = &JUnitSkipped{"unknown: " + clip(one.Why, 1000)}
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = fmt.Sprintf("%.3f", seconds)
	s.Properties = []JUnitProperty{{"rate", r.words()}}
	var b bytes.Buffer
	if err := WriteJUnit(&b, s); err != nil {
		return fmt.Errorf("write %s: %w", d.File(JUnitFile), err)
	}
	return d.write(JUnitFile, b.Bytes())
}
