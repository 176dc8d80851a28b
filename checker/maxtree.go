package checker

import (
	"math"
	"slices"
)

// maxTree finds in a list the nearest value that is great enough, in O(log n). The children of
// node i are 2i and 2i+1, the leaves the last half. Its room is used again by build.
type maxTree struct{ of []int64 }

// none is the value of a position without one.
const none = math.MinInt64

// build takes a list of n values.
func (t *maxTree) build(n int, at func(i int) int64) {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	t.of = slices.Grow(t.of[:0], 2*leaves)[:2*leaves]
	for i := range leaves {
		t.of[leaves+i] = none
		if i < n {
			t.of[leaves+i] = at(i)
		}
	}
	for i := leaves - 1; i > 0; i-- {
		t.of[i] = max(t.of[2*i], t.of[2*i+1])
	}
}

func (t *maxTree) set(i int, v int64) {
	i += len(t.of) / 2
	t.of[i] = v
	for i /= 2; i > 0; i /= 2 {
		t.of[i] = max(t.of[2*i], t.of[2*i+1])
	}
}

// first is the first position from one on with a value of at least v, which is not none; -1 where
// there is no such.
func (t *maxTree) first(from int, v int64) int {
	leaves := len(t.of) / 2
	if from >= leaves {
		return -1
	}
	for i := from + leaves; i > 0; i++ {
		if t.of[i] >= v {
			for i < leaves {
				if i *= 2; t.of[i] < v {
					i++
				}
			}
			return i - leaves
		}
		for i&1 == 1 { // the last child of its parents: what follows is next to them
			i /= 2
		}
		if i == 0 {
			break
		}
	}
	return -1
}

// last is the last position before one with a value of at least v, which is not none; -1 where
// there is no such.
func (t *maxTree) last(to int, v int64) int {
	leaves := len(t.of) / 2
	if to <= 0 || leaves == 0 {
		return -1
	}
	for i := min(to, leaves) - 1 + leaves; ; i-- {
		if t.of[i] >= v {
			for i < leaves {
				if i = 2*i + 1; t.of[i] < v {
					i--
				}
			}
			return i - leaves
		}
		for i&1 == 0 { // the first child of its parents
			i /= 2
		}
		if i == 1 {
			return -1
		}
	}
}
