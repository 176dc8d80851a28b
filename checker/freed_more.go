package checker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// freedMore is the cause of a grant that came because a release freed more of the lock than its client gave back: other
// entries of a reentrant lock, other readers' shares, another client's permit. Of a mutex that is a wrong-release.
const freedMore = "freed-more"

// waitedMore is how many times as long as after the release a client must have waited before it: else
// the release need not have been what let it in.
const waitedMore = 5

// sharesFreed is how often a reader's release must have let a writer in beside other readers, each time that one was: a
// reader whose share was forgotten before looks the same, since the writer waits for the last one that is known.
const sharesFreed = 3

// freeing is, by the grant that it let in, the release that freed more than it ought to have.
type freeing map[*grant]*op

// newFreeing looks for such a release before each grant that came too early, and no server's fault is suspected of. A lock
// that lets clients in without one as well has another bug.
func newFreeing(o *overlaps, s *suspects) freeing {
	out, without, shares := freeing{}, map[*lock]bool{}, map[*lock]int{}
	look := func(older []*grant, newer *grant) {
		b := s.early[newer].suspect
		if newer.lock.mutex() || b != nil && b.side == verdict.OnServer {
			return
		}
		switch by := releaseBefore(older, newer); {
		case by == nil:
			without[newer.lock] = true
		case !by.ofShare():
			out[newer] = by
		default:
			out[newer] = by
			shares[newer.lock]++
		}
	}
	for _, e := range o.early {
		look(e.older, e.newer)
	}
	for _, d := range o.doubles {
		look(d.older, d.newer)
	}
	maps.DeleteFunc(out, func(g *grant, by *op) bool { return without[g.lock] || by.ofShare() && shares[g.lock] < sharesFreed })
	return out
}

// releaseBefore is the last release that may have let a waiting client in beside those who had the lock already; nil for
// none.
func releaseBefore(older []*grant, newer *grant) *op {
	list := newer.lock.released
	n, _ := slices.BinarySearchFunc(list, newer.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	latest := slices.MaxFunc(older, func(a, b *grant) int { return cmp.Compare(a.okT, b.okT) })
	for i := n - 1; i >= max(0, n-maxBetween) && list[i].invT > latest.okT; i-- {
		o := list[i]
		after := max(0, newer.lo-o.endT)
		if newer.inv < 0 || after > prompt || o.invT-newer.invT <= waitedMore*after {
			return nil
		}
		if o.typ == tOK && o.grant != nil && givesBackLess(o, latest) {
			return o
		}
	}
	return nil
}

// givesBackLess says that a release leaves the lock with another grant, which had been there before: it is of an inner
// entry, of a share, or of a grant that was no longer in force.
func givesBackLess(o *op, other *grant) bool {
	g := o.grant
	return g.ofHold() == other.ofHold() || o.ofShare() || !g.mayLast(o.invT)
}

// ofShare says that a reader gives back what it may still have had.
func (o *op) ofShare() bool { return o.grant.mode == shared && o.grant.mayLast(o.invT) }

// freedEvidence lists the events that show it. For the release of a share they cannot: its being one of several alike does.
func (o *op) freedEvidence(newer *grant) []int32 {
	if o.ofShare() {
		return nil
	}
	return []int32{o.grant.ok, o.inv, o.comp, newer.inv}
}
