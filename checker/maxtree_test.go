package checker

import (
	"testing"

	"pgregory.net/rapid"
)

// TestMaxTree: as by looking at all of the values.
func TestMaxTree(t *testing.T) {
	var tree maxTree
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 20).Draw(t, "values")
		tree.build(len(list), func(i int) int64 { return list[i] })
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			if len(list) > 0 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "place")
				list[i] = rapid.Int64Range(0, 9).Draw(t, "value")
				tree.set(i, list[i])
			}
		}
		for at := range len(list) + 2 {
			for v := range int64(11) {
				first, last := -1, -1
				for i, x := range list {
					if x >= v && i >= at && first < 0 {
						first = i
					}
					if x >= v && i < at {
						last = i
					}
				}
				if got := tree.first(at, v); got != first {
					t.Fatalf("first of %v from %d with %d: %d, want %d", list, at, v, got, first)
				}
				if got := tree.last(at, v); got != last {
					t.Fatalf("last of %v before %d with %d: %d, want %d", list, at, v, got, last)
				}
			}
		}
	})
}
