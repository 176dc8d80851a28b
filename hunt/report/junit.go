package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// promises are what a lock is held to.
var promises = []string{verdict.Exclusion, verdict.Register, verdict.Tokens, verdict.Liveness}

// JUnit writes hunt-junit.xml: the lock is the suite, each promise a case, which fails
// with the ways to break it. Where too little could be played, a promise that nothing
// broke is skipped, for nothing is proved of it.
func JUnit(w io.Writer, r *hunt.Result, dir string) error {
	s := junitSuite{Name: "picklock.hunt." + r.Lock, Tests: len(promises), Time: fmt.Sprintf("%.3f", r.Seconds)}
	little := r.Unproved()
	of := map[string]string{hunt.LateWrite: verdict.Register}
	for _, a := range verdict.Anomalies() {
		of[a.Name] = a.Property
	}
	for _, name := range promises {
		c := junitCase{Name: name, Class: s.Name}
		var lines []string
		for _, way := range r.Ways {
			if of[way.Anomaly] != name {
				continue
			}
			if c.Failure == nil {
				c.Failure = &junitMessage{Message: clip(heading(way)), Type: way.Anomaly}
			}
			lines = append(lines, fmt.Sprintf("%s (%s)\n%s\nagain: %s", heading(way), rateWords(way), clip(way.Explanation), Again(r, way, dir)))
		}
		switch {
		case c.Failure != nil:
			c.Failure.Text = strings.Join(lines, "\n\n")
			s.Failures++
		case little != "":
			c.Skipped = &junitMessage{Message: "too little could be played: " + little + "; " + r.Summary()}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
