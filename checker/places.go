package checker

import "slices"

// places holds the events' own numbers, where those are not 0, 1, 2, ...; else it is
// empty.
type places []int64

// add takes the number of the i-th event.
func (l *places) add(i int32, number int64) {
	if *l == nil && number == int64(i) {
		return
	}
	for len(*l) < int(i) {
		*l = append(*l, int64(len(*l)))
	}
	*l = push(*l, number)
}

// at translates places into the events' numbers in the file, for proofs.
func (l places) at(list ...int32) []int64 {
	var out []int64
	for _, p := range list {
		if p >= 0 {
			n := int64(p)
			if l != nil {
				n = l[p]
			}
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
