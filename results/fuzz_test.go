package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// FuzzExpectations: whatever an expectations file holds, it is refused by its name,
// or a matrix can be compared with it, and no cell of it is left undecided in silence.
func FuzzExpectations(f *testing.F) {
	for _, text := range []string{
		"", "[]", "a", "a: b", "a: {b: {c: valid}}", "pause-holder:\n  redis:\n    none: [stale-write, lost-update]\n    write: valid\n", "a: {b: {c: [x, [y]]}}",
		"pause-holder: {redis: {none: {x: y}}}", "pause-holder: {redis: {none: broken}}", "pause-holder: {redis: {sequencer: []}}", "a: &a {b: *a}\n", "? [a]\n: b\n",
		"pause-holder: {redis: {none: null}}", "pause-holder: {redis: null}", "pause-holder: {redis: {none: [null, 3]}}",
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "picklock.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := ReadExpectations(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Fatalf("no file: %v", err)
			}
			return
		}
		m := &Matrix{Cells: []Cell{
			{Scenario: "pause-holder", Lock: "redis", Fencing: "none", Broken: []string{"stale-write"}, Valid: checker.False},
			{Scenario: "pause-holder", Lock: "redis", Fencing: "write", Valid: checker.True},
		}}
		e.Apply(m)
		for _, c := range m.Cells {
			if c.Met != checker.True && c.Why == "" {
				t.Fatalf("no reason: %+v", c)
			}
		}
		// What is written of it is read again, and is met.
		if err := WriteExpectations(path, m); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadExpectations(path); err != nil {
			t.Fatal(err)
		} else if again.Apply(m); m.Cells[0].Met != checker.True || m.Cells[1].Met != checker.True {
			t.Fatalf("not met by itself: %+v", m.Cells)
		}
	})
}
