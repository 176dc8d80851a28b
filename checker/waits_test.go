package checker

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/internal/percentile"
)

// TestWaitTimes: what is counted without sorting is what sorting gives.
func TestWaitTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(0, 1<<18), rapid.Int64Range(math.MaxUint32-2, math.MaxUint32+2), rapid.Int64Range(0, 1<<40)), 1, 40).Draw(t, "waits")
		var w waitTimes
		for _, v := range all {
			w.add(v)
		}
		slices.Sort(all)
		want := Waits{P50: percentile.Of(all, 50), P95: percentile.Of(all, 95), P99: percentile.Of(all, 99), Max: percentile.Of(all, 100)}
		if got := w.summary(); *got != want {
			t.Fatalf("%+v, want %+v", *got, want)
		}
	})
	if (&waitTimes{}).summary() != nil {
		t.Error("a summary of nothing")
	}
}
