package checker

import (
	"cmp"
	"slices"
)

// stale says that there were faults since a log was made of them.
func (l *letting) stale(r *reader) bool {
	return l.faults == nil || l.open || len(l.faults.list) != len(r.faults.list)
}

// lookAtFaults makes a log of the faults as they are now. Those that come later, and the
// ends of those that are on, tell nothing of what is over.
func (l *letting) lookAtFaults(r *reader) {
	if !l.stale(r) {
		return
	}
	list := r.faults.list
	l.looked = r.seen
	l.open = slices.ContainsFunc(list, func(f fault) bool { return !f.ended })
	l.faults = newFaultLog(slices.Clone(list), r.last, r.names.isClient)
	l.ttl = tenure{l.opt.TTL, l.faults}
}

// decideTried says of the acquires of grants that are decided, and of those that were not
// granted and ended by now, which is the ok of the grant after those, whether they were
// under way while another client had the lock for certain. It counts the grants that had
// it, and lets refused acquires go.
func (l *letting) decideTried(k *lock, done []*grant, now int64) {
	m := &k.gone
	firm, word := l.ttl.firmPieces(&lock{grants: done}), wordPieces(done)
	m.firm, m.word = append(m.firm, firm...), append(m.word, word...)
	sortBy(m.firm, func(p piece) int64 { return p.from })
	sortBy(m.word, func(p piece) int64 { return p.from })
	pieces := mergePieces(m.firm, m.word)
	meets := func(process string, from, to int64) tried {
		if anotherHad(pieces, process, from, to) {
			return triedIt
		}
		return triedNothing
	}
	for _, g := range done {
		if g.inv >= 0 {
			g.tried = meets(g.process, g.invT, g.okT)
		}
	}
	kept, rest := k.acquires[:m.acquires], []*op(nil)
	for _, o := range k.acquires[m.acquires:] {
		switch {
		case o.endT > now:
			rest = append(rest, o)
			continue
		case o.tried == undecided:
			o.tried = meets(o.process, o.invT, o.endT)
		}
		if o.typ != tFail || o.kept || o.comp < 0 {
			kept = append(kept, o)
		} else if o.tried == triedIt {
			m.asked++
		}
	}
	for _, a := range m.asking { // whose client was killed; if an answer comes, it is another question
		if o := a.p.acquire; o.endT <= now && o.tried == undecided {
			o.tried = meets(o.process, o.invT, o.endT)
		}
	}
	m.acquires = len(kept)
	kept = append(kept, rest...)
	clear(k.acquires[len(kept):])
	k.acquires = kept
	m.firm, m.word = latest(m.firm, now), latest(m.word, now)
}

// latest keeps, of stretches by begin, those that what ends at now or later may have met.
func latest(pieces []piece, now int64) []piece {
	n, _ := slices.BinarySearchFunc(pieces, now, func(p piece, t int64) int { return cmp.Compare(p.from, t) })
	return slices.Clone(pieces[max(0, n-1):])
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
	sortBy(out, func(p piece) int64 { return p.from })
	return out
}

// onlyLet are those of grants that were let go.
func onlyLet(pieces []piece) []piece {
	return slices.DeleteFunc(slices.Clone(pieces), func(p piece) bool { return !p.g.let })
}

func mergePieces(firm, word []piece) []piece {
	out := slices.Concat(firm, word)
	sortBy(out, func(p piece) int64 { return p.from })
	return out
}

// anotherHad says whether another client had the lock at some time in [from, to). Where
// nothing is wrong the pieces do not meet, and the latest to begin reaches furthest.
func anotherHad(pieces []piece, process string, from, to int64) bool {
	n, _ := slices.BinarySearchFunc(pieces, to, func(p piece, t int64) int { return cmp.Compare(p.from, t) })
	return n > 0 && pieces[n-1].g.process != process && pieces[n-1].to > from
}
