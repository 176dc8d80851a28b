package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// otherKey is the cause of an early grant right after a release of another key, of which the name of one begins that of the other: a service that deletes
// by a pattern, or wakes by a prefix, confuses the two.
const otherKey = "other-key"

// alikeLocks knows which locks have names that a service may confuse.
type alikeLocks struct {
	// of are, of each lock, the others of which the name of one begins that of the other.
	of map[*lock][]*lock
	// outlived are, of such a pair, the first two grants of one that outlived a release of the other.
	outlived map[[2]*lock][]*grant
}

// newAlikeLocks finds them. A bound keeps hostile names from making this quadratic.
func newAlikeLocks(locks []*lock) *alikeLocks {
	a := &alikeLocks{of: map[*lock][]*lock{}, outlived: map[[2]*lock][]*grant{}}
	add := func(to, k *lock) {
		if len(a.of[to]) < maxBetween {
			a.of[to] = append(a.of[to], k)
		}
	}
	var shorter []*lock // those whose names begin that of the lock at hand, if the names are in order
	for _, k := range slices.SortedFunc(slices.Values(locks), func(a, b *lock) int { return cmp.Compare(a.name, b.name) }) {
		for len(shorter) > 0 && !strings.HasPrefix(k.name, shorter[len(shorter)-1].name) {
			shorter = shorter[:len(shorter)-1]
		}
		for _, s := range shorter[max(0, len(shorter)-maxBetween):] {
			add(k, s)
			add(s, k)
		}
		shorter = append(shorter, k)
	}
	return a
}

// survives says that a release of the other lock was sent and answered between a grant and its release, which the lock confirmed. The grant that met another
// one is none of them: a lock may confirm any release.
func (a *alikeLocks) survives(k, other *lock, but *grant) bool {
	pair := [2]*lock{k, other}
	list, known := a.outlived[pair]
	if !known {
		for _, g := range k.grants {
			if len(list) < 2 && g.outlives(other) {
				list = append(list, g)
			}
		}
		a.outlived[pair] = list
	}
	return slices.ContainsFunc(list, func(g *grant) bool { return g != but })
}

// outlives says so of one grant.
func (g *grant) outlives(other *lock) bool {
	if g.release == nil || g.release.typ != tOK {
		return false
	}
	n, _ := slices.BinarySearchFunc(other.released, g.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	return n < len(other.released) && other.released[n].typ != tInfo && other.released[n].endT < g.release.invT
}

// releasedAlike finds such a release: it was answered, it can have been carried out between the two grants, and no release of the lock itself was under way
// then. nil for none, if what a server knew explains the newer grant better, if the lock lets clients in without a release, or if another such release left
// it alone.
func (an *analysis) releasedAlike(e earlyPair, alike *alikeLocks, suspect *part) *op {
	victim, newer := e.older[0], e.newer
	if e.byService(suspect) || !newer.lock.mutex() || an.overlaps.wrong.letsIn(victim, newer) {
		return nil
	}
	between := func(o *op) bool { return o.endT > victim.lo }
	if slices.ContainsFunc(newer.lock.releasedBefore(newer.okT), between) {
		return nil
	}
	for _, k := range alike.of[newer.lock] {
		for _, o := range slices.Backward(k.releasedBefore(newer.okT)) {
			if between(o) && o.typ != tInfo && newer.lo-max(o.endT, newer.invT) <= prompt && !alike.survives(newer.lock, k, victim) {
				return o
			}
		}
	}
	return nil
}

// otherKey says so of an early grant.
func (c *earlyCase) otherKey() (reason, bool) {
	o := c.an.releasedAlike(c.earlyPair, c.alike(), c.blame.suspect)
	if o == nil {
		return reason{}, false
	}
	words := fmt.Sprintf("; %s had sent a release of the lock %s at %s, and none of this one was under way", o.process, o.lock.name, format.Instant(o.invT))
	return reason{cause: otherKey, words: words, refs: []int32{o.inv, o.comp}}, true
}
