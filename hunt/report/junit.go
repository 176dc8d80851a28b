package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// promises are what a lock is held to.
var promises = []string{verdict.Exclusion, verdict.Register, verdict.Tokens, verdict.Liveness}

// JUnit writes hunt-junit.xml: the lock is the suite, each promise a case, which fails
// with its counterexamples. Its type says whether the first is a lock bug or a lease hazard.
// If too little was tried, a promise without a counterexample is skipped: nothing is proved.
func JUnit(w io.Writer, r *hunt.Result, dir string) error {
	s := results.JUnitSuite{Name: "picklock.hunt." + r.Lock, Time: fmt.Sprintf("%.3f", r.Seconds)}
	s.Properties = []results.JUnitProperty{{Name: "verdict", Value: clip(r.Summary())}, {Name: "coverage", Value: clip(strings.Join(covered(r), "; "))}}
	if sought := r.Sought(); sought != "" {
		s.Properties = append(s.Properties, results.JUnitProperty{Name: "sought", Value: clip(sought)})
	}
	little := r.Unproved()
	of := map[string]string{}
	for _, a := range verdict.Anomalies() {
		of[a.Name] = a.Property
	}
	promised := slices.Clone(promises)
	for _, w := range r.Counterexamples { // of what was looked for and is no promise of the lock's
		if p := of[w.Anomaly]; p != "" && !slices.Contains(promised, p) {
			promised = append(promised, p)
		}
	}
	s.Tests = len(promised)
	for _, name := range promised {
		c := results.JUnitCase{Name: name, Class: s.Name, Time: "0"}
		var lines []string
		for _, counterexample := range r.Counterexamples {
			if of[counterexample.Anomaly] != name {
				continue
			}
			if c.Failure == nil {
				c.Failure = &results.JUnitFailure{Message: clip(heading(counterexample)), Type: class(counterexample)}
			}
			lines = append(lines, fmt.Sprintf("%s (%s)\n%s\nreplay: %s", heading(counterexample), rateWords(counterexample), clip(counterexample.Explanation), Replay(r, counterexample, dir)))
		}
		switch {
		case c.Failure != nil:
			c.Failure.Text = strings.Join(lines, "\n\n")
			s.Failures++
		case len(r.Find) > 0 && !slices.ContainsFunc(r.Find, func(a string) bool { return of[a] == name }):
			c.Skipped = &results.JUnitSkipped{Message: clip(r.Sought())}
			s.Skipped++
		case r.Undecided(name):
			c.Skipped = &results.JUnitSkipped{Message: "no run has decided it: the lock does not promise it, or nothing was tried that could break it"}
			s.Skipped++
		case little != "":
			c.Skipped = &results.JUnitSkipped{Message: "too little was tried: " + little + "; " + r.Summary()}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	return results.WriteJUnit(w, s)
}
