package results

import (
	"bytes"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestCellSummaryBeginsWithWhatTheLockDid: a lock that broke has no tick, whoever expected it.
func TestCellSummaryBeginsWithWhatTheLockDid(t *testing.T) {
	for _, c := range []struct {
		valid, met checker.Validity
		want       string
	}{
		{checker.True, checker.True, "✓ s on l, fencing none: held, as expected\n"},
		{checker.False, checker.True, "● s on l, fencing none: broke, as expected\n"},
		{checker.Unknown, checker.True, "✓ s on l, fencing none: as expected\n"},
		{checker.True, checker.False, "✗ s on l, fencing none: held, not as expected\n"},
		{checker.False, checker.False, "✗ s on l, fencing none: broke, not as expected\n"},
		{checker.False, checker.Unknown, "? s on l, fencing none: inconclusive\n"},
	} {
		var b bytes.Buffer
		if err := CellSummary(&b, Cell{Scenario: "s", Lock: "l", Fencing: "none", Valid: c.valid, Met: c.met}, "", false); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), c.want) {
			t.Errorf("valid %v, met %v: %q, want %q", c.valid, c.met, b.String(), c.want)
		}
	}
}
