package harness

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/scenarios"
)

// A run that shows nothing is run again if this machine may be the reason, and only then.
func TestTooBusy(t *testing.T) {
	late, never := fmt.Errorf("a step: %w", scenarios.ErrBusy), errors.New("a trigger never came")
	steps, alone := &scenarios.Scenario{}, &scenarios.Scenario{Run: &scenarios.Run{}}
	broken := []string{"wrong-release"}
	for _, tt := range []struct {
		name   string
		of     *scenarios.Scenario
		met    checker.Validity
		broken []string
		misses bool
		step   error
		stalls int
		want   bool
	}{
		{"a step came too late", steps, checker.Unknown, nil, false, late, 0, true},
		{"the machine stood still, and a trigger never came", steps, checker.Unknown, nil, false, never, 1, true},
		{"the machine stood still, and all steps were taken", steps, checker.Unknown, nil, false, nil, 2, true},
		{"clients that act by themselves, and the machine stood still", alone, checker.Unknown, nil, false, nil, 2, true},
		{"a trigger never came", steps, checker.Unknown, nil, false, never, 0, false},
		{"it breaks as expected all the same", steps, checker.True, broken, false, late, 3, false},
		{"it breaks, and nothing was expected to", steps, checker.False, broken, false, nil, 1, false},
		{"it holds, and the machine stood still", steps, checker.True, nil, false, nil, 1, true},
		{"it holds", steps, checker.True, nil, false, nil, 0, false},
		{"clients that act by themselves hold it while the machine stands still", alone, checker.True, nil, false, nil, 1, false},
		{"what must break did not, and the machine stood still", steps, checker.False, nil, true, nil, 1, true},
		{"only what may break did, and the machine stood still", steps, checker.False, broken, true, nil, 1, true},
		{"what must break did not", steps, checker.False, nil, true, nil, 0, false},
	} {
		var out ScenarioOutcome
		out.Result.Met, out.Result.Broken, out.misses, out.Verdict.Stats.Stalls = tt.met, tt.broken, tt.misses, tt.stalls
		if got := out.tooBusy(tt.of, tt.step); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestLastOfBusyRuns(t *testing.T) {
	for _, tt := range []struct {
		name string
		met  checker.Validity
		why  string
		runs int
		last bool
		want string
	}{
		{"one more is made", checker.True, "", mostRuns - 1, false, ""},
		{"the last one held", checker.True, "", mostRuns, true, "this machine was too busy for all of 5 runs"},
		{"the last one did not break as it must", checker.False, "not found: deadlock", mostRuns, true, "this machine was too busy for all of 5 runs"},
		{"the last one says itself why it is unknown", checker.Unknown, "a step came too late", mostRuns, true, "a step came too late"},
	} {
		var out ScenarioOutcome
		r := &out.Result
		r.Met, r.Why = tt.met, tt.why
		if last := out.givesUp(tt.runs); last != tt.last || last && r.Met != checker.Unknown || !strings.HasPrefix(r.Why, tt.want) {
			t.Errorf("%s: last %v, %v: %s", tt.name, last, r.Met, r.Why)
		}
	}
}
