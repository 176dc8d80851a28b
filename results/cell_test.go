package results

import (
	"bytes"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestCellSummaryBeginsWithWhatTheLockDid: a lock that broke has no tick, even if it was expected.
func TestCellSummaryBeginsWithWhatTheLockDid(t *testing.T) {
	for _, c := range []struct {
		valid, met checker.Validity
		want       string
	}{
		{checker.True, checker.True, "✓ s on l, fencing none: pass, as expected\n"},
		{checker.False, checker.True, "● s on l, fencing none: fail, as expected\n"},
		{checker.Unknown, checker.True, "✓ s on l, fencing none: unknown, as expected\n"},
		{checker.True, checker.False, "✗ s on l, fencing none: pass, not as expected\n"},
		{checker.False, checker.False, "✗ s on l, fencing none: fail, not as expected\n"},
		{checker.False, checker.Unknown, "? s on l, fencing none: unknown\n"},
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
