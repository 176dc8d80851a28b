package nemesis

import "slices"

// kinds is the one table of the faults, by name: a new fault is its file and its
// line here.
var kinds = []Kind{
	clockKind,
	diskKind,
	failoverKind,
	flapKind,
	holdKind,
	killKind,
	lossKind,
	partitionKind,
	pauseKind,
	powerLossKind,
	resetKind,
	slowKind,
}

// Kinds lists the faults by name.
func Kinds() []Kind { return slices.Clone(kinds) }

func lookup(name string) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}
