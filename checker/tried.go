package checker

import (
	"cmp"
	"slices"
)

// What a property was put to the test by. A verdict of true rests on attempts that
// would have shown a break: where there was none, the property is unknown.

// askedWhileHeld counts the acquires that were under way at some time at which another
// client had the lock for certain: by a lease that was alive, or by all that is known; of
// locks that are no mutex it counts the contested grants.
// A lock that grants what it must not would have granted those. held is the number of
// grants that had the lock for certain at some time.
func (ix *index) askedWhileHeld() (asked, held int) {
	for _, k := range ix.keys {
		pieces := ix.certainPieces(k)
		last := (*grant)(nil)
		for _, p := range pieces {
			if p.g != last {
				held++
			}
			last = p.g
		}
		// Where nothing is wrong they do not meet, and the latest to begin reaches furthest.
		meets := func(process string, from, to int64) bool {
			n, _ := slices.BinarySearchFunc(pieces, to, func(p piece, t int64) int { return cmp.Compare(p.from, t) })
			return n > 0 && pieces[n-1].g.process != process && pieces[n-1].to > from
		}
		if !k.mutex() { // a request beside a holder need not wait
			for _, g := range k.grants {
				if g.contested {
					asked++
				}
			}
			continue
		}
		for _, o := range k.acquires {
			if meets(o.process, o.invT, o.endT) {
				asked++
			}
		}
		for _, g := range k.grants {
			if g.inv >= 0 && meets(g.process, g.invT, g.okT) {
				asked++
			}
		}
	}
	return asked, held
}

// certainPieces lists when grants had the lock for certain, by begin.
func (ix *index) certainPieces(k *lock) []piece {
	out := ix.firmPieces(k)
	for _, g := range k.grants {
		if !g.timeless() {
			continue
		}
		for _, s := range g.pieces() { // by the service's own word
			out = append(out, piece{s, g})
		}
	}
	sortBy(out, func(p piece) int64 { return p.from })
	return out
}

// successions counts the grants with a token that came for certain after another one of
// their lock that has one.
func (ix *index) successions() int {
	n := 0
	for _, k := range ix.keys {
		first := never // ok of a grant with a token
		for _, g := range k.grants {
			if g.token != 0 {
				first = min(first, g.okT)
			}
		}
		for _, g := range k.grants {
			if g.token != 0 && g.lo > first {
				n++
			}
		}
	}
	return n
}

// turns counts the grants that touched the register after another one had.
func (ix *index) turns() int {
	n := 0
	for _, effects := range ix.log.keys {
		seen := map[*grant]bool{}
		for _, e := range effects {
			if e.known() {
				seen[e.g] = true
			}
		}
		n += max(0, len(seen)-1)
	}
	return n
}
