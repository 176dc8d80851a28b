package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/checker"
)

// A run that proved too little is none that shows no violation.
func TestExpectationsPassOverARunThatProvedTooLittle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "want.yaml")
	if err := os.WriteFile(file, []byte("s:\n  l:\n    none: [stale-write]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := ReadExpectations(file)
	if err != nil {
		t.Fatal(err)
	}
	broke := one(checker.True, checker.False, nil, "stale-write")
	for valid, want := range map[checker.Validity]checker.Validity{checker.Unknown: checker.Unknown, checker.True: checker.False} {
		c := broke
		c.Add(one(valid, valid, nil))
		m := &Matrix{Scenarios: []Ran{{Name: "s"}}, Cells: []Cell{c}}
		if e.Apply(m); m.Cells[0].Met != want {
			t.Errorf("a second run that is %v: %v: %s", valid, m.Cells[0].Met, m.Cells[0].Why)
		}
	}
}

// No cell is as expected if all were left out.
func TestHeadlineOfAMatrixThatRanNothing(t *testing.T) {
	m := &Matrix{Cells: []Cell{{Scenario: "s", Lock: "l", LeftOut: "no cluster"}}}
	if got := m.headlineOf(); got != "no cell was run; 1 left out" {
		t.Error(got)
	}
}
