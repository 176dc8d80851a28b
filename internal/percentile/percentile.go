// Package percentile says below which value a part of some values lies. It has no
// opinion on what they are.
package percentile

// Of returns the value below or at which percent of the sorted values lie: the one at
// place (n-1)*percent/100, rounded down, so that 100 is the greatest. There must be one
// at least.
func Of[T any](sorted []T, percent int) T { return sorted[(len(sorted)-1)*percent/100] }
