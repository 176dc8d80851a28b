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
		valid, met     checker.Validity
		expected, want string
	}{
		{checker.True, checker.True, "valid", "✓ s on l, fencing none: pass, as expected\n"},
		{checker.False, checker.True, "valid", "● s on l, fencing none: fail, as expected\n"},
		{checker.Unknown, checker.True, "valid", "✓ s on l, fencing none: unknown, as expected\n"},
		{checker.True, checker.False, "valid", "✗ s on l, fencing none: pass, not as expected\n"},
		{checker.False, checker.False, "valid", "✗ s on l, fencing none: fail, not as expected\n"},
		{checker.False, checker.False, "", "✗ s on l, fencing none: fail\n  expected: no broken promise, since the scenario does not name this lock\n"},
		{checker.True, checker.True, "", "✓ s on l, fencing none: pass\n"},
		{checker.False, checker.Unknown, "", "? s on l, fencing none: unknown\n"},
		{checker.False, checker.Unknown, "valid", "? s on l, fencing none: unknown\n"},
	} {
		var b bytes.Buffer
		if err := CellSummary(&b, Cell{Scenario: "s", Lock: "l", Fencing: "none", Valid: c.valid, Met: c.met, Expected: c.expected}, "", false); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), c.want) {
			t.Errorf("valid %v, met %v: %q, want %q", c.valid, c.met, b.String(), c.want)
		}
	}
}
