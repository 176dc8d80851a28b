package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/suggest"
)

// failOn is what makes a broken verdict exit code 1: whatever broke, or lock bugs alone.
type failOn string

const (
	onHazard failOn = "hazard"
	onBug    failOn = "bug"
)

func failOnValues() []string { return []string{string(onHazard), string(onBug)} }

// failOnFlag adds --fail-on.
func failOnFlag(f *pflag.FlagSet, on *failOn) {
	*on = onHazard
	f.Var(on, "fail-on", "exit with 1 on: hazard (a lock bug or a lease hazard), or bug (only a lock bug); a fault of the resource always does")
}

func (o *failOn) String() string { return string(*o) }
func (o *failOn) Type() string   { return strings.Join(failOnValues(), "|") }

// Set implements pflag.Value.
func (o *failOn) Set(text string) error {
	for _, v := range failOnValues() {
		if v == text {
			*o = failOn(text)
			return nil
		}
	}
	return suggest.Unknown("value", text, failOnValues())
}

// met is the exit code of a verdict. A fault of the resource fails whatever is asked for: its log is what writes are judged by.
func (o failOn) met(v checker.Verdict) error {
	if _, _, resource := v.Failures(); o == onBug && resource == 0 {
		return met(v.Promises)
	}
	return met(v.Valid)
}
