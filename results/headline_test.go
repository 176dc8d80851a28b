package results

import (
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestHeadlineOfARecord: the faults of a record of another tool's are those that its history says took effect.
func TestHeadlineOfARecord(t *testing.T) {
	for _, c := range []struct {
		name   string
		asked  []string
		faults map[string]checker.FaultCount
		valid  checker.Validity
		want   string
	}{
		{"none", nil, nil, checker.True, "PASS. The unnamed lock kept its promises. No fault was injected."},
		{"in the history alone", nil, map[string]checker.FaultCount{"pause": {Injected: 1, Confirmed: 1}}, checker.True, "PASS. The unnamed lock kept its promises under pause."},
		{"without effect", nil, map[string]checker.FaultCount{"pause": {Injected: 1}}, checker.True, "PASS. The unnamed lock kept its promises. No fault took effect."},
		{"without data", nil, map[string]checker.FaultCount{"kill:wipe": {Injected: 1, Confirmed: 1}}, checker.True, "PASS. The unnamed lock kept its promises under kill without its data."},
		{"asked for", []string{"kill:holder"}, map[string]checker.FaultCount{"kill": {Injected: 1, Confirmed: 1}}, checker.True, "PASS. The unnamed lock kept its promises under kill of the holder."},
	} {
		run := Run{}
		run.Faults = c.asked
		if got := headline(run, checker.Verdict{Valid: c.valid, Stats: checker.Stats{Faults: c.faults}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
