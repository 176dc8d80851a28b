package checker

import (
	"cmp"
	"slices"
)

// soonRate is the share of the meetings blamed by soonAfter that may be there by chance.
const soonRate = 0.1

// soonAfter blames, for each of the meetings at these positions, the failure of a server that it came so soon after that chance hardly
// explains it. Each failure is reason enough by itself: what other kinds of failures explain is no evidence against it, as it is
// where a kind is weighed for all meetings. It returns the positions that are left.
//
// How many of the soonest meetings are too many for chance follows Benjamini and Hochberg, "Controlling the False Discovery
// Rate", 1995.
func (l *faultLog) soonAfter(meetings []meeting, out []blamed, left []int, rank func(part) int, run interval) []int {
	losses := l.losses()
	type soon struct {
		at     int
		chance float64
		loss   part
	}
	var list []soon
	for _, i := range left {
		best := soon{at: i, chance: 1}
		for _, p := range out[i].parts {
			if rank(p) != rankState {
				continue
			}
			since := p.begin
			if p.end < meetings[i].at {
				since = p.end
			}
			after := float64(losses) * float64(meetings[i].at-since) / float64(run.to-run.from)
			if after < best.chance || after == best.chance && best.loss.fault != nil && p.begin > best.loss.begin {
				best.chance, best.loss = after, p
			}
		}
		if best.loss.fault != nil {
			list = append(list, best)
		}
	}
	slices.SortFunc(list, func(a, b soon) int { return cmp.Or(cmp.Compare(a.chance, b.chance), cmp.Compare(a.at, b.at)) })
	n := len(list)
	for n > 0 && list[n-1].chance > soonRate*float64(n)/float64(len(left)) {
		n--
	}
	if n == 0 {
		return left
	}
	for _, s := range list[:n] {
		out[s.at].suspect = &s.loss
		out[s.at].without(func(p part) bool { return rank(p) > rankState })
	}
	return slices.DeleteFunc(slices.Clone(left), func(i int) bool { return out[i].suspect != nil })
}

// losses counts the faults by which a server may have lost what it knew.
func (l *faultLog) losses() int {
	n := 0
	for i := range l.list {
		if f := &l.list[i]; f.confirmed && f.losesState() {
			n++
		}
	}
	return n
}
