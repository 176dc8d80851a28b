package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/internal/bulk"
)

// TestCrowds: of a semaphore with many holders each anomaly counts all grants that have a part
// in it, the first one of each name names them, and the others name some.
func TestCrowds(t *testing.T) {
	const n = 500 // permits; as many are granted besides
	for _, kind := range []string{"many holders of a semaphore", "many holders of a semaphore without leases"} {
		h := bulk.Named(kind).Make(2 * n)
		v := Check(Input{Events: h.Events})
		for _, name := range []string{"granted-early", "double-grant", "two-holders"} {
			for i, a := range named(v, name) {
				if got := len(a.Grants) + a.More; got != n+1 {
					t.Fatalf("%s: %s %d is of %d grants and %d more, want %d in all", kind, name, i, len(a.Grants), a.More, n+1)
				}
				if full := a.More == 0; full != (i == 0) {
					t.Fatalf("%s: %s %d leaves out %d", kind, name, i, a.More)
				}
				want := fmt.Sprintf("and the holders of %d more", n-crowdNamed)
				if !strings.Contains(a.Explanation, want) {
					t.Fatalf("%s: %s %d says not %q: %s", kind, name, i, want, a.Explanation)
				}
			}
		}
		if got := len(named(v, "two-holders")); got < n-2 {
			t.Errorf("%s: %d anomalies, want one for each grant but the permits", kind, got)
		}
	}
}

// TestSmallCrowdsAreNamed: up to crowdAll permits every anomaly shows itself.
func TestSmallCrowdsAreNamed(t *testing.T) {
	h := bulk.Named("many holders of a semaphore").Make(2 * crowdAll)
	v := Check(Input{Events: h.Events})
	for _, a := range v.Anomalies {
		if a.More != 0 || len(a.Grants) != crowdAll+1 {
			t.Fatalf("%s names %d grants and leaves out %d", a.Name, len(a.Grants), a.More)
		}
	}
	if len(v.Anomalies) == 0 {
		t.Error("no anomaly")
	}
}

// plainCover is the fewest intervals that cover w, by trying each that goes on furthest.
func plainCover(intervals []holdInterval, w interval) []*grant {
	var out []*grant
	for at := w.from; ; {
		var best holdInterval
		for _, p := range intervals {
			if p.from < at && p.to > at && p.to > best.to {
				best = p
			}
		}
		if best.g == nil {
			return nil
		}
		if !slices.Contains(out, best.g) {
			out = append(out, best.g)
		}
		if best.to > w.to {
			return out
		}
		at = best.to
	}
}

// TestCover: the grants of a cover are the fewest, whatever the intervals.
func TestCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var intervals []holdInterval
		for range rapid.IntRange(0, 14).Draw(t, "stretches") {
			from := rapid.Int64Range(0, 30).Draw(t, "from")
			intervals = append(intervals, holdInterval{interval{from, from + rapid.Int64Range(1, 8).Draw(t, "length")}, &grant{}})
		}
		sortBy(intervals, func(p holdInterval) int64 { return p.from })
		from := rapid.Int64Range(0, 30).Draw(t, "window")
		w := interval{from, from + rapid.Int64Range(0, 25).Draw(t, "its length")}
		want, got := plainCover(intervals, w), coveringOf(intervals).of(w)
		switch {
		case (want == nil) != (got == nil):
			t.Fatalf("covered: %v, want %v", got != nil, want != nil)
		case got != nil && len(got.older) != len(want):
			t.Fatalf("by %d, want %d", len(got.older), len(want))
		}
	})
}

// TestLongCovers: the first of many covers names all of its grants, the others a count.
func TestLongCovers(t *testing.T) {
	var intervals []holdInterval
	const n = 1000
	for i := range int64(n) {
		intervals = append(intervals, holdInterval{interval{10 * i, 10*i + 15}, &grant{ok: int32(i)}})
	}
	c := coveringOf(intervals)
	for i, w := range []interval{{1, 10*n - 1}, {1, 10*n - 1}, {101, 201}} {
		got := c.of(w)
		want := []int{n, n, 10}[i]
		if got == nil || got.n() != want || (got.more > 0) != (i == 1) {
			t.Fatalf("cover of %v: %+v, want %d", w, got, want)
		}
	}
}
