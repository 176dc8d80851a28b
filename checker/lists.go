package checker

import (
	"cmp"
	"slices"
)

// slab hands out records from blocks, which costs the garbage collector less than
// one allocation each.
type slab[T any] struct {
	block []T
}

// next returns a zero record.
func (s *slab[T]) next() *T {
	if len(s.block) == cap(s.block) {
		s.block = make([]T, 0, min(512, max(16, 2*cap(s.block))))
	}
	s.block = s.block[:len(s.block)+1]
	return &s.block[len(s.block)-1]
}

// push is append that doubles: for lists that grow to millions, append's smaller
// steps would leave four times the list's size to the garbage collector.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(16, len(list)))
	}
	return append(list, v)
}

// sortBy keeps equals in their order, and costs next to nothing where the list is
// in order already, as most are.
func sortBy[T any, K cmp.Ordered](list []T, key func(T) K) {
	by := func(a, b T) int { return cmp.Compare(key(a), key(b)) }
	if !slices.IsSortedFunc(list, by) {
		slices.SortStableFunc(list, by)
	}
}

// until is the end of the run that begins at i.
func until[T any](list []T, i int, same func(T) bool) int {
	for i < len(list) && same(list[i]) {
		i++
	}
	return i
}
