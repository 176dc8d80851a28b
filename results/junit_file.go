package results

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The parts of a JUnit file as build servers read it.
type (
	// JUnitSuite is the cases of one lock.
	JUnitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"` // seconds
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []JUnitProperty `xml:"properties>property"`
		Cases      []JUnitCase     `xml:"testcase"`
	}

	// JUnitProperty is a fact about a suite.
	JUnitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}

	// JUnitCase is one thing that was to hold: it failed, or was skipped, or held.
	JUnitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"` // seconds
		Failure *JUnitFailure `xml:"failure,omitempty"`
		Skipped *JUnitSkipped `xml:"skipped,omitempty"`
	}

	// JUnitFailure is how a case failed.
	JUnitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}

	// JUnitSkipped is why nothing is proved of a case.
	JUnitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes one suite, or a mapping of several, as a file.
func WriteJUnit(w io.Writer, suites any) error {
	b, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(b)+"\n")
	return err
}
