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

// TestUnfit: a script that needs tokens or a lease proves nothing of a lock without them, whoever's lock that is. What broke stands.
func TestUnfit(t *testing.T) {
	s := &scenarios.Scenario{Needs: []string{scenarios.NeedTokens}}
	for _, lock := range []string{"redis", "exec:./mine"} {
		if why := unfit(s, lock, nil, grantFacts{n: 1}, checker.True); why != "the lock gives no fencing tokens" {
			t.Errorf("%s without: %q", lock, why)
		}
		for _, g := range []grantFacts{{n: 1, tokens: true}, {}} {
			if why := unfit(s, lock, nil, g, checker.True); why != "" {
				t.Errorf("%s, %+v: %q", lock, g, why)
			}
		}
		if why := unfit(s, lock, nil, grantFacts{n: 1}, checker.False); why != "" {
			t.Errorf("%s, broken: %q", lock, why)
		}
	}
}
