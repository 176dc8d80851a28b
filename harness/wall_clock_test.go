package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/scenarios"
)

// A wall clock that was set shows in how far it is from where the monotonic one has it.
func TestWallClock(t *testing.T) {
	for by, want := range map[time.Duration]time.Duration{
		0: 0, leastSet / 2: 0, 3 * time.Millisecond: 3 * time.Millisecond, -time.Second: -time.Second,
	} {
		c := startWallClock()
		c.wall -= int64(by)
		if got := c.set(); (got - want).Abs() > leastSet/4 {
			t.Errorf("set by %v: %v", by, got)
		}
	}
}

// What breaks while the wall clock is set is run again, and is no result in the end. What holds then counts.
func TestClockOfMachineIsSet(t *testing.T) {
	s := &scenarios.Scenario{}
	for name, tc := range map[string]struct {
		broken []string
		met    checker.Validity
		set    time.Duration
		want   bool
	}{
		"it breaks":                {[]string{"granted-early"}, checker.False, time.Millisecond, true},
		"it breaks as expected":    {[]string{"granted-early"}, checker.True, time.Millisecond, false},
		"it breaks, and it is not": {[]string{"granted-early"}, checker.False, 0, false},
		"it holds":                 {nil, checker.True, time.Millisecond, false},
		"it holds, and should not": {nil, checker.False, time.Millisecond, true},
	} {
		out := &ScenarioOutcome{}
		out.Result.Broken, out.Result.Met, out.wallSet = tc.broken, tc.met, tc.set
		if got := out.tooBusy(s, nil); got != tc.want {
			t.Errorf("%s: run again %v", name, got)
		}
	}
	out := &ScenarioOutcome{}
	out.Result.Met, out.Result.Broken, out.wallSet = checker.False, []string{"granted-early"}, 3*time.Millisecond
	if !out.givesUp(mostRuns) || out.Result.Met != checker.Unknown || !strings.Contains(out.Result.Why, "the wall clock of this machine was set by 3ms") {
		t.Errorf("after all runs: %v: %s", out.Result.Met, out.Result.Why)
	}
}
