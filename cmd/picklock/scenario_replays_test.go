package main

import (
	"maps"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
)

// A run counts once for each required anomaly, and once for each cause of what nothing else led to.
func TestTally(t *testing.T) {
	v := checker.Verdict{
		Properties: map[string]verdict.Property{verdict.Register: {Required: true}, verdict.Belief: {}},
		Anomalies: []verdict.Anomaly{
			{Name: "stale-write", Property: verdict.Register, Cause: "renewed-late"},
			{Name: "stale-write", Property: verdict.Register, Cause: "renewed-late"},
			{Name: "stale-write", Property: verdict.Register, Cause: "lease-outlived"},
			{Name: "two-holders", Property: verdict.Belief},
		},
	}
	got := &tally{Found: map[string]int{}, Causes: map[string]int{}}
	got.take(false, v)
	got.take(true, checker.Verdict{})
	if got.Runs != 2 || got.Hits != 1 || !maps.Equal(got.Found, map[string]int{"stale-write": 1}) ||
		!maps.Equal(got.Causes, map[string]int{"stale-write (renewed-late)": 1, "stale-write (lease-outlived)": 1}) {
		t.Errorf("%+v", got)
	}
}
