package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// full returns when a lock had no room for another client, by begin, of the intervals in which clients may have had it. Of a
// semaphore that is when as many as there are permits may have had one; and while a grant was given, which somebody else may
// have been waiting for.
func (k *lock) full(busy []interval) []interval {
	if k.permits <= 1 {
		return busy
	}
	out := atOnce(busy, k.permits)
	for _, g := range k.grants {
		out = append(out, interval{g.lo, g.okT})
	}
	sortBy(out, func(s interval) int64 { return s.from })
	return out
}

// overfull says that more clients than a semaphore has permits may have had one at some time in [from, to].
func (an *analysis) overfull(k *lock, from, to int64) bool {
	if !k.crowdsKnown {
		k.crowds, k.crowdsKnown = atOnce(busy(an, k, joined(disturbed(an), an.opt.Bound)), satAdd(k.permits, 1)), true
	}
	n, _ := slices.BinarySearchFunc(k.crowds, from, func(s interval, t int64) int { return cmp.Compare(s.to, t) })
	return n < len(k.crowds) && k.crowds[n].from <= to
}

// atOnce returns when n of the intervals, or more, were on at once.
func atOnce(busy []interval, n int64) []interval {
	type edge struct {
		at   int64
		more int
	}
	edges := make([]edge, 0, 2*len(busy))
	for _, s := range busy {
		if s.from < s.to {
			edges = append(edges, edge{s.from, 1}, edge{s.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more)) })
	var out []interval
	on, from := int64(0), int64(0)
	for _, e := range edges {
		before := on
		on += int64(e.more)
		switch {
		case before < n && on >= n:
			from = e.at
		case before >= n && on < n && e.at > from:
			out = append(out, interval{from, e.at})
		}
	}
	return out
}

// freeWords say that nobody held the lock, or that it had room.
func (k *lock) freeWords() string {
	if k.permits > 1 {
		return fmt.Sprintf("at least one of its %d permits was free (no client alive believed that it held it, no lease was running)", k.permits)
	}
	return "no client alive believed that it held it, no lease was running"
}

// mostLeft is how many grants are looked at for the one that left a semaphore in its state.
const mostLeft = 64

// leftBehind is, of a lock's grants, the one that left it in the state in which it is from t on: the last one; of a semaphore
// the last whose client does not have its permit any more, and did not give it back if there is one; of readers likewise, since there was a writer; and
// of a hold that was entered again the last entry that was not given back.
func leftBehind(k *lock, grants []*grant, t int64) *grant {
	last := grants[len(grants)-1]
	if k.permits <= 1 {
		for _, g := range slices.Backward(grants[max(0, len(grants)-mostLeft):]) {
			beside := g == last || last.mode == shared && g.mode == shared || last.mode == nested && g.ofHold() == last.ofHold()
			if !beside {
				break
			}
			if !g.releasedBy(never) && g.heldUntil() <= t {
				return g
			}
		}
		return last
	}
	var over *grant
	for _, g := range slices.Backward(grants[max(0, len(grants)-mostLeft):]) {
		switch {
		case g.heldUntil() > t:
		case !g.releasedBy(never):
			return g
		case over == nil:
			over = g
		}
	}
	if over == nil {
		return last
	}
	return over
}

// lastWords say what g is to the lock: see leftBehind.
func (k *lock) lastWords(g *grant) string {
	if k.permits > 1 && g.n < int32(len(k.grants)-1) {
		return "the last to have had a permit, of those that no longer have one,"
	}
	if g.mode == shared && g.n < int32(len(k.grants)-1) && k.grants[g.n+1].mode == shared {
		return "the last to have shared it, of those that had not given it back,"
	}
	return "the last to be granted it"
}
