package checker

import (
	"fmt"
	"slices"
)

// earlyPair is a grant that was certainly given while others' leases were alive.
type earlyPair struct {
	newer *grant
	older []*grant // one, or the several whose leases together cover newer's window
	// from is where the overlap certainly begins.
	from int64
	// covered says that newer's own lease proves nothing: it had ended before
	// its ok, but every instant at which it can have been granted was another's.
	covered bool
	renewed bool // newer's proof is a renewal, not its acquire
}

// piece is one alive interval of one grant.
type piece struct {
	span
	g *grant
}

// findEarly decides exclusion exactly: a history of grants is possible for a
// mutex with leases if and only if no pair comes of this (early_test.go proves it
// against Porcupine and against trying all orders).
//
// A grant whose lease outlived its ok holds the lock at least over [ok, end); a
// grant whose lease was over by then needs only one instant in [max(lo, end), ok]
// at which nobody else held. So: the alive intervals must not intersect, and no
// such window may lie wholly inside their union. Both are one sweep. Intervals
// are half-open: what ends at t does not hinder what begins at t.
func (ix *index) findEarly() []earlyPair {
	if ix.earlyKnown {
		return ix.early
	}
	ix.earlyKnown = true
	for _, k := range ix.keys {
		ix.early = append(ix.early, k.earlyOf(k.grants)...)
	}
	return ix.early
}

func earlyOf(grants []*grant) []earlyPair {
	pieces := make([]piece, 0, len(grants))
	for _, g := range grants {
		for _, s := range g.pieces() {
			pieces = append(pieces, piece{s, g})
		}
	}
	sortBy(pieces, func(p piece) int64 { return p.from })

	var out []earlyPair
	accused := map[*grant]bool{}
	var first piece // the one that reaches furthest so far
	for _, p := range pieces {
		// A grant's own intervals do not meet, so what reaches into p is another's.
		if first.to > p.from && !accused[p.g] {
			accused[p.g] = true
			out = append(out, earlyPair{newer: p.g, older: []*grant{first.g}, from: p.from, renewed: p.from != p.g.okT})
		}
		if first.g == nil || p.to > first.to {
			first = p
		}
	}

	// The windows of the grants whose lease was over by their ok.
	furthest := make([]piece, 0, len(pieces)) // per piece, the one that reaches furthest up to it
	for i, p := range pieces {
		if i > 0 && furthest[i-1].to >= p.to {
			p = furthest[i-1]
		}
		furthest = append(furthest, p)
	}
	for _, g := range grants {
		if g.end() > g.okT || accused[g] {
			continue
		}
		if cover := coverOf(g.givenWithin(), pieces, furthest); cover != nil {
			out = append(out, earlyPair{newer: g, older: cover, from: g.okT, covered: true})
		}
	}
	return out
}

// givenWithin is when the grant can have been given, for one whose lease had ended
// before its ok: not before its lease was over, since until then it held.
func (g *grant) givenWithin() span {
	from := g.lo
	if g.lease > 0 {
		from = max(from, satAdd(g.since, g.lease))
	}
	return span{min(from, g.okT), g.okT}
}

// coverOf returns the fewest grants whose alive intervals, as open sets, cover
// the closed window w; nil if they do not.
func coverOf(w span, pieces, furthest []piece) []*grant {
	var cover []*grant
	at := w.from
	for {
		n, _ := slices.BinarySearchFunc(pieces, at, func(p piece, t int64) int {
			if p.from < t {
				return -1
			}
			return 1
		})
		if n == 0 || furthest[n-1].to <= at {
			return nil
		}
		p := furthest[n-1]
		if !slices.Contains(cover, p.g) {
			cover = append(cover, p.g)
		}
		if p.to > w.to {
			return cover
		}
		at = p.to
	}
}

func findGrantedEarly(ix *index) []Anomaly {
	wrong := ix.findWrong()
	var out []Anomaly
	for _, e := range ix.findEarly() {
		newer, older := e.newer, e.older[0]
		a := Anomaly{
			Name: "granted-early", Property: Exclusion, Key: newer.lock.name, Time: e.from,
			Cause: "granted-early", Sizes: map[string]int64{},
		}
		var places []int32
		from := newer.okT
		for _, g := range e.older {
			a.Grants = append(a.Grants, g.id)
			a.Processes = append(a.Processes, g.process)
			from = min(from, g.okT)
		}
		left := older.leaseLeft(e.from)
		a.Sizes["remaining"] = left
		if older.lease > 0 {
			a.Sizes["lease"] = older.lease
		}
		what := "was granted the lock"
		if newer.token != 0 {
			what = fmt.Sprintf("was granted token %d", newer.token)
		}
		while := fmt.Sprintf("while %s's %s, granted %s earlier, certainly had %s left",
			older.process, older.claim(), dur(e.from-older.okT), dur(left))
		switch {
		case !e.newer.lock.mutex():
			places = append(places, ix.tell(e, &a)...)
		case e.covered:
			a.Explanation = fmt.Sprintf("%s %s between %s and %s, while %s's %s certainly had time left throughout",
				newer.process, what, clock(newer.givenWithin().from), clock(newer.okT), older.process, older.claim())
			places = append(places, ix.coverProof(e)...)
		case e.renewed:
			a.Cause = "renewed-early"
			a.Explanation = fmt.Sprintf("%s's lease had ended and was renewed by %s, %s", newer.process, clock(e.from), while)
			places = append(older.proof(e.from), newer.proof(e.from)...)
		default:
			a.Sizes["overlap"] = min(older.aliveUntil(e.from), newer.aliveUntil(e.from)) - e.from
			a.Explanation = fmt.Sprintf("%s %s by %s, %s", newer.process, what, clock(e.from), while)
			places = append(older.proof(e.from), newer.proof(e.from)...)
			if w := newer.givenWithin(); len(newer.proof(e.from)) > 1 && older.aliveOver(w.from, w.to) && !older.startsAt(w.from) {
				// How long newer held does not matter: it had nowhere to begin.
				places = ix.coverProof(e)
			}
		}
		if w := wrong[newer]; w != nil {
			a.Cause = "wrong-release"
			a.Explanation += fmt.Sprintf("; %s had released at %s a lock that it no longer held", w.by.process, clock(w.release.invT))
			places = append(places, w.by.ok, w.release.inv, w.release.comp, w.next.loProof(), ix.orderProof(w.by, w.victim))
		}
		a.Grants = append(a.Grants, newer.id)
		a.Events = ix.at(places...)
		out = append(out, ix.finish(a, from, newer.process))
	}
	return out
}

// claim names what the grant gave: "lease on token 33".
func (g *grant) claim() string {
	c := "lease"
	if g.lease == 0 {
		c = "hold"
	}
	if g.token != 0 {
		c += fmt.Sprintf(" on token %d", g.token)
	}
	return c
}

// coverProof lists the events that show the window of e.newer covered.
func (ix *index) coverProof(e earlyPair) []int32 {
	w := e.newer.givenWithin()
	places := []int32{e.newer.ok}
	if w.from == e.newer.lo {
		places = append(places, e.newer.loProof())
	}
	at := w.from
	for _, g := range e.older { // each reaches past where the one before ended
		until := g.aliveUntil(at)
		places = append(places, g.proof(min(until-1, w.to))...)
		at = until
	}
	return places
}
