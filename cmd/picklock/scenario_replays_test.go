package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// A run counts once for each required anomaly, and once for each cause of what nothing else led to.
func TestTally(t *testing.T) {
	v := checker.Verdict{
		Properties: map[string]verdict.Property{verdict.Register: {Required: true}, verdict.Belief: {}},
		Anomalies: []verdict.Anomaly{
			{Name: "stale-write", Property: verdict.Register, Cause: "renewed-late", Explanation: "A wrote late"},
			{Name: "stale-write", Property: verdict.Register, Cause: "renewed-late"},
			{Name: "stale-write", Property: verdict.Register, Cause: "lease-outlived"},
			{Name: "two-holders", Property: verdict.Belief},
		},
	}
	got := newTally()
	got.take(false, v)
	got.take(true, checker.Verdict{})
	if got.Runs != 2 || got.Hits != 1 || !maps.Equal(got.Found, map[string]int{"stale-write": 1}) ||
		!maps.Equal(got.Causes, map[string]int{"stale-write (renewed-late)": 1, "stale-write (lease-outlived)": 1}) {
		t.Errorf("%+v", got)
	}
	if got.take(false, checker.Verdict{}); got.Unmet != "A wrote late" {
		t.Errorf("%q explains the first run that was not as expected", got.Unmet)
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

// Discarded runs are printed with their reasons, the most frequent first. If all of them missed a trigger, the lock may have been
// mended, which nothing but a new search tells.
func TestDiscards(t *testing.T) {
	few := discardOf(&hunt.Outcome{Discarded: scenarios.NeverCame + ": A's release has sent message 2", FailedFault: "pause: A", Instead: "it sent 1 and was over"})
	busy := discardOf(&hunt.Outcome{Discarded: "it was injected 73ms after its trigger: this machine is too busy", FailedFault: "pause: A", Busy: true})
	if ran := discardOf(&hunt.Outcome{}); ran != (discard{}) {
		t.Errorf("%+v of a run that counts", ran)
	}
	got := newTally()
	got.drop(few)
	if text := got.pointless("exec:python3 my lock.py"); !strings.HasSuffix(text, " picklock hunt --lock 'exec:python3 my lock.py'") {
		t.Errorf("%q", text)
	}
	got.drop(busy)
	got.drop(few)
	want := []string{
		"2 discarded: pause: A: its trigger never came: A's release has sent message 2 (it sent 1 and was over)",
		"1 discarded: this machine was too busy",
	}
	if lines := got.discards(); !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	if text := got.pointless("redis"); text != "" {
		t.Errorf("%q, and a run was discarded for something else", text)
	}
}
