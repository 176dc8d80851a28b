package main

import (
	"maps"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/scenarios"
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

// Replays on a testbed that stays up give the lock the options of the scenario, as a run by itself does; the user's go first.
func TestReplaysTakeTheOptionsOfTheScenario(t *testing.T) {
	o := testbedFor{ScenarioOptions: harness.ScenarioOptions{Scenario: &scenarios.Scenario{Extra: map[string]string{"nested": "2", "threads": "each"}}}}
	o.Extra = map[string]string{"nested": "3"}
	if got, want := o.options(t.TempDir()).Extra, map[string]string{"nested": "3", "threads": "each"}; !maps.Equal(got, want) {
		t.Errorf("options %v, want %v", got, want)
	}
}
