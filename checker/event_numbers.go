package checker

import "slices"

// refPage is how many events one page of numbers is about.
const refPage = 1 << 10

// eventNumbers holds the events' own numbers: of a page whose events are numbered one after the
// other, the first one only.
type eventNumbers []numbers

type numbers struct {
	first int64
	each  []int64 // nil where they are first, first+1, first+2, ...
}

// add takes the number of the i-th event; i counts up.
func (l *eventNumbers) add(i int32, number int64) {
	at := i % refPage
	if at == 0 {
		*l = append(*l, numbers{first: number})
		return
	}
	p := &(*l)[i/refPage]
	if p.each == nil && number != p.first+int64(at) {
		p.each = make([]int64, refPage)
		for j := range at {
			p.each[j] = p.first + int64(j)
		}
	}
	if p.each != nil {
		p.each[at] = number
	}
}

// at translates refs into the events' numbers in the file, for the evidence.
func (l eventNumbers) at(list ...int32) []int64 {
	var out []int64
	for _, i := range list {
		if i < 0 {
			continue
		}
		p := l[i/refPage]
		if p.each != nil {
			out = append(out, p.each[i%refPage])
		} else {
			out = append(out, p.first+int64(i%refPage))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
