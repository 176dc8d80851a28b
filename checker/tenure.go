package checker

// tenure says how long grants had their lock: by their leases, or, where they promise
// none, by all that is known.
type tenure struct {
	ttl    int64 // the lease that the clients asked for; 0: nothing is known of one
	faults *faultLog
}

// firmPieces lists when the lock was held by all that is known, by begin.
func (n *tenure) firmPieces(k *lock) []piece {
	var out []piece
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

// certainPieces lists when grants had the lock for certain, by begin: those that are known
// of, and the last of those that were let go.
func (n *tenure) certainPieces(k *lock) []piece {
	return mergePieces(append(onlyLet(k.gone.firm), n.firmPieces(k)...), append(onlyLet(k.gone.word), wordPieces(k.grants)...))
}

// certain says whether a grant had the lock for certain at some time.
func (n *tenure) certain(g *grant) bool {
	if len(g.pieces()) > 0 {
		return true
	}
	return g.timeless() && n.firm(g).to > g.okT
}
