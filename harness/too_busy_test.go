package harness

import (
	"errors"
	"fmt"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/scenarios"
)

// A run that proves nothing is run again if this machine may be the reason, and only then.
func TestTooBusy(t *testing.T) {
	late, never := fmt.Errorf("a step: %w", scenarios.ErrBusy), errors.New("a trigger never came")
	for _, tt := range []struct {
		name   string
		met    checker.Validity
		step   error
		stalls int
		want   bool
	}{
		{"a step came too late", checker.Unknown, late, 0, true},
		{"the machine stood still, and a trigger never came", checker.Unknown, never, 1, true},
		{"the machine stood still, and all steps were taken", checker.Unknown, nil, 2, true},
		{"a trigger never came", checker.Unknown, never, 0, false},
		{"it is as expected all the same", checker.True, late, 3, false},
		{"it is not as expected", checker.False, nil, 1, false},
	} {
		var out ScenarioOutcome
		out.Result.Met, out.Verdict.Stats.Stalls = tt.met, tt.stalls
		if got := out.tooBusy(tt.step); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
