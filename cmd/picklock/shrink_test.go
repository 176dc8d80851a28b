package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/hunt"
)

// What remains and does not come any more is no result; one that was not run again is.
func TestShrinkNever(t *testing.T) {
	for _, x := range []struct {
		rate hunt.Rate
		code int // 0: no error
	}{
		{hunt.Rate{Hits: 0, Runs: 20}, exitUnknown},
		{hunt.Rate{Hits: 1, Runs: 20}, 0},
		{hunt.Rate{}, 0},
	} {
		const schedule = "name: x\nabout: x\nlocks: [redis]\nclients:\n  A: acquire, release\nttl: 1s\n"
		out := filepath.Join(t.TempDir(), "small.yaml")
		o := shrinkFlags{out: out}
		err := o.print(shrunk{Shrunk: &hunt.Shrunk{Schedule: schedule, Rate: x.rate}})
		var code *exitError
		if errors.As(err, &code) != (x.code != 0) || code != nil && code.code != x.code {
			t.Errorf("%+v: got %v, want the exit code %d", x.rate, err, x.code)
		}
		if text, err := os.ReadFile(out); err != nil || string(text) != schedule {
			t.Errorf("%+v: %q, %v", x.rate, text, err)
		}
	}
}
