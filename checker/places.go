package checker

import "slices"

// placePage is how many events one page of places is about.
const placePage = 1 << 10

// places holds the events' own numbers: of a page whose events are numbered one after the
// other, the first one only.
type places []numbers

type numbers struct {
	first int64
	each  []int64 // nil where they are first, first+1, first+2, ...
}

// add takes the number of the i-th event; i counts up.
func (l *places) add(i int32, number int64) {
	at := i % placePage
	if at == 0 {
		*l = append(*l, numbers{first: number})
		return
	}
	p := &(*l)[i/placePage]
	if p.each == nil && number != p.first+int64(at) {
		p.each = make([]int64, placePage)
		for j := range at {
			p.each[j] = p.first + int64(j)
		}
	}
	if p.each != nil {
		p.each[at] = number
	}
}

// at translates places into the events' numbers in the file, for proofs.
func (l places) at(list ...int32) []int64 {
	var out []int64
	for _, i := range list {
		if i < 0 {
			continue
		}
		p := l[i/placePage]
		if p.each != nil {
			out = append(out, p.each[i%placePage])
		} else {
			out = append(out, p.first+int64(i%placePage))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
