package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// promises are what a lock is held to.
var promises = []string{verdict.Exclusion, verdict.Register, verdict.Tokens, verdict.Liveness}

// JUnit writes hunt-junit.xml: the lock is the suite, each promise a case, which fails
// with the ways to break it. Where too little could be played, a promise that nothing
// broke is skipped, for nothing is proved of it.
func JUnit(w io.Writer, r *hunt.Result, dir string) error {
	s := results.JUnitSuite{Name: "picklock.hunt." + r.Lock, Tests: len(promises), Time: fmt.Sprintf("%.3f", r.Seconds)}
	little := r.Unproved()
	of := map[string]string{hunt.LateWrite: verdict.Register}
	for _, a := range verdict.Anomalies() {
		of[a.Name] = a.Property
	}
	for _, name := range promises {
		c := results.JUnitCase{Name: name, Class: s.Name, Time: "0"}
		var lines []string
		for _, counterexample := range r.Counterexamples {
			if of[counterexample.Anomaly] != name {
				continue
			}
			if c.Failure == nil {
				c.Failure = &results.JUnitFailure{Message: clip(heading(counterexample)), Type: counterexample.Anomaly}
			}
			lines = append(lines, fmt.Sprintf("%s (%s)\n%s\nagain: %s", heading(counterexample), rateWords(counterexample), clip(counterexample.Explanation), Again(r, counterexample, dir)))
		}
		switch {
		case c.Failure != nil:
			c.Failure.Text = strings.Join(lines, "\n\n")
			s.Failures++
		case little != "":
			c.Skipped = &results.JUnitSkipped{Message: "too little could be played: " + little + "; " + r.Summary()}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	return results.WriteJUnit(w, s)
}
