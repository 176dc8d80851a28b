package harness

import (
	"errors"
	"fmt"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// A lock is not accused of what a lease does on a machine that was too slow for the script. What it
// broke of its own promises stands, and so does a hazard that the script alone brought about.
func TestJudgeOnBusyMachine(t *testing.T) {
	busy := fmt.Errorf("discarded: a wait of 200ms took 2s: %w", scenarios.ErrBusy)
	found := func(name, property string) checker.Verdict {
		return checker.Verdict{
			Valid: checker.False, Anomalies: []checker.Anomaly{{Name: name, Property: property}},
			Properties: map[string]checker.Property{property: {Valid: checker.False, Required: true, Anomalies: 1}},
		}
	}
	hazard, bug := found("stale-write", verdict.Register), found("granted-early", verdict.Exclusion)
	for _, tt := range []struct {
		about   string
		v       checker.Verdict
		stepErr error
		want    checker.Validity
	}{
		{"a stale write", hazard, nil, checker.False},
		{"a stale write, and a step came too late", hazard, busy, checker.Unknown},
		{"a stale write, and a step failed", hazard, errors.New("no such key"), checker.False},
		{"overlapping leases, and a step came too late", bug, busy, checker.False},
	} {
		var r results.Cell
		judge(&r, &scenarios.Expectation{}, tt.v, tt.stepErr)
		if r.Met != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.about, r.Met, r.Why, tt.want)
		}
	}
}
