package results

import (
	"math"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// The bounds are Clopper and Pearson's as tables have them.
func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.3085},
		{10, 10, 0.6915, 1},
		{3, 10, 0.0667, 0.6525},
		{1, 1, 0.025, 1},
		{50, 100, 0.3983, 0.6017},
		{0, 0, 0, 1},
		{0, 1000, 0, 0.00368},
	} {
		low, high := interval(tt.k, tt.n)
		if math.Abs(low-tt.low) > 5e-5 || math.Abs(high-tt.high) > 5e-5 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.5f to %.5f", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}

func TestRunsValidity(t *testing.T) {
	for _, tt := range []struct {
		asked int
		valid []checker.Validity
		want  checker.Validity
	}{
		{2, []checker.Validity{checker.True, checker.True}, checker.True},
		{3, []checker.Validity{checker.True, checker.True}, checker.Unknown}, // cut short
		{2, []checker.Validity{checker.True, checker.Unknown}, checker.Unknown},
		{3, []checker.Validity{checker.Unknown, checker.False}, checker.False},
		{1, nil, checker.Unknown},
	} {
		r := Runs{Asked: tt.asked}
		for _, v := range tt.valid {
			r.Runs = append(r.Runs, OneRun{Valid: v})
		}
		if r.Rate = RateOf(r.Runs, false); r.Validity() != tt.want {
			t.Errorf("%v of %d: %v, want %v", tt.valid, tt.asked, r.Validity(), tt.want)
		}
	}
	// What nobody knows is no part of the share.
	if r := RateOf([]OneRun{{Valid: checker.False}, {Valid: checker.True}, {}, {}}, false); r.Share != 0.5 || r.Unknown != 2 {
		t.Errorf("%+v", r)
	}
}

// TestRunsFailOnBug: with --fail-on bug a run that shows only lease hazards is no failure.
func TestRunsFailOnBug(t *testing.T) {
	hazard := OneRun{Seed: 1, Valid: checker.False, Promises: checker.True, Hazards: 2, Anomalies: map[string]int{"stale-write": 2}}
	bug := OneRun{Seed: 2, Valid: checker.False, Promises: checker.False, Bugs: 1, Anomalies: map[string]int{"granted-early": 1}}
	for _, tt := range []struct {
		onBug        bool
		runs         []OneRun
		failed, pass int
		want         checker.Validity
	}{
		{false, []OneRun{hazard, bug}, 2, 0, checker.False},
		{true, []OneRun{hazard, bug}, 1, 1, checker.False},
		{true, []OneRun{hazard}, 0, 1, checker.True},
	} {
		r := Runs{Asked: len(tt.runs), OnBug: tt.onBug, Runs: tt.runs, Rate: RateOf(tt.runs, tt.onBug)}
		if r.Rate.Failed != tt.failed || r.Rate.Passed != tt.pass || r.Validity() != tt.want {
			t.Errorf("%+v: %+v, %v", tt, r.Rate, r.Validity())
		}
		if strings.Contains(r.words(), "--fail-on bug") != tt.onBug {
			t.Errorf("%q", r.words())
		}
	}
	for want, one := range map[string]OneRun{
		"✗ seed 1 FAIL: 0 lock bugs, 2 lease hazards: stale-write × 2 ()":                       hazard,
		"✗ seed 2 FAIL: 1 lock bug, 0 lease hazards: overlapping leases (granted-early) × 1 ()": bug,
	} {
		if got := one.Line(false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
