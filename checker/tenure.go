package checker

import (
	"cmp"
	"slices"
)

// tenure says how long grants had their lock: by their leases, or, where they promise
// none, by all that is known.
type tenure struct {
	ttl    int64 // the lease that the clients asked for; 0: nothing is known of one
	faults *faultLog
}

// firmPieces lists when the lock was held by all that is known, by begin.
func (n *tenure) firmPieces(k *lock) []piece {
	out := make([]piece, 0, len(k.grants))
	for _, g := range k.grants {
		if !g.timeless() {
			for _, s := range g.pieces() {
				out = append(out, piece{s, g})
			}
			continue
		}
		if s := n.firm(g); s.to > s.from {
			out = append(out, piece{s, g})
		}
	}
	sortBy(out, func(p piece) int64 { return p.from })
	return out
}

// timeless says that nothing in the history promises how long the grant lasts.
func (g *grant) timeless() bool {
	return g.lease == 0 && g.renewed.promised() <= 0
}

// spent is the part of the lease that its client asked for after which a grant that
// promises none may be over: when it began, only its acquire's ok tells, which came a
// little later.
const spent = 0.9

// firm is how long a grant without a lease held the lock by all that is known; it is
// empty where a fault was on when it was given.
func (n *tenure) firm(g *grant) span {
	s := span{g.okT, g.believedEnd}
	if n.ttl > 0 {
		s.to = min(s.to, satAdd(g.okT, int64(spent*float64(n.ttl))))
	}
	s.to = min(s.to, n.faults.harmFrom(g.process, g.lo))
	return s
}

// firmEnd is until when the grant was held by all that is known.
func (n *tenure) firmEnd(g *grant) int64 {
	if g.timeless() {
		return n.firm(g).to
	}
	return g.aliveUntil(g.okT)
}

// certainPieces lists when grants had the lock for certain, by begin: by their leases, by all
// that is known, and by the service's word.
func (n *tenure) certainPieces(k *lock) []piece {
	out := append(n.firmPieces(k), wordPieces(k.grants)...)
	sortBy(out, func(p piece) int64 { return p.from })
	return out
}

// wordPieces lists when grants that promise no lease had the lock by the service's word.
func wordPieces(grants []*grant) []piece {
	var out []piece
	for _, g := range grants {
		if !g.timeless() {
			continue
		}
		for _, s := range g.pieces() {
			out = append(out, piece{s, g})
		}
	}
	return out
}

// anotherHad says whether another client had the lock at some time in [from, to). Where
// nothing is wrong the pieces do not meet, and the latest to begin reaches furthest.
func anotherHad(pieces []piece, process string, from, to int64) bool {
	n, _ := slices.BinarySearchFunc(pieces, to, func(p piece, t int64) int { return cmp.Compare(p.from, t) })
	return n > 0 && pieces[n-1].g.process != process && pieces[n-1].to > from
}
