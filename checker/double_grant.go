package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// doublePair is a grant that came while others held the lock, and nothing excuses it.
type doublePair struct {
	newer *grant
	older []*grant
	// release is one in between, of a grant that was older still; nil if there is none.
	release *op
}

// findDoubles finds the grants that came while as many others as the lock allows held it
// by all that is known: they had been granted it and had not released it, no lease of
// theirs was known to have ended, and no fault was on them or on the service that could
// have taken the lock from them. A lock that promises no lease promises at least that.
// What findEarly found is left to it.
func (ix *index) findDoubles() []doublePair {
	if ix.doublesKnown {
		return ix.doubles
	}
	ix.doublesKnown = true
	early := map[*grant]bool{}
	for _, e := range ix.findEarly() {
		early[e.newer] = true
	}
	for _, k := range ix.keys {
		if !slices.ContainsFunc(k.grants, (*grant).timeless) {
			continue // leases say all of it
		}
		c := k.capacity()
		if k.mutex() {
			c = &mutexCapacity{}
		}
		if c == nil {
			continue
		}
		for _, p := range ix.firmPieces(k) {
			if older := c.conflicts(p); older != nil && !early[p.g] {
				early[p.g] = true
				d := doublePair{newer: p.g, older: grantsOf(older)}
				d.release = ix.staleRelease(d)
				ix.doubles = append(ix.doubles, d)
			}
			c.add(p)
		}
	}
	return ix.doubles
}

// mutexCapacity holds the stretch that reaches furthest.
type mutexCapacity struct{ longest piece }

func (c *mutexCapacity) conflicts(p piece) []piece {
	if c.longest.to <= p.from || c.longest.g.process == p.g.process {
		return nil
	}
	return []piece{c.longest}
}

func (c *mutexCapacity) add(p piece) {
	if p.to > c.longest.to {
		c.longest = p
	}
}

// firmPieces lists when the lock was held by all that is known, by begin.
func (ix *index) firmPieces(k *lock) []piece {
	var out []piece
	for _, g := range k.grants {
		if !g.timeless() {
			for _, s := range g.pieces() {
				out = append(out, piece{s, g})
			}
			continue
		}
		if s := ix.firm(g); s.to > s.from {
			out = append(out, piece{s, g})
		}
	}
	sortBy(out, func(p piece) int64 { return p.from })
	return out
}

// timeless says that nothing in the history promises how long the grant lasts.
func (g *grant) timeless() bool {
	return g.lease == 0 && !slices.ContainsFunc(g.renewals(), func(r renewal) bool { return r.until > 0 })
}

// spent is the part of the lease that its client asked for after which a grant that
// promises none may be over: when it began, only its acquire's ok tells, which came a
// little later.
const spent = 0.9

// firm is how long a grant without a lease held the lock by all that is known; it is
// empty where a fault was on when it was given.
func (ix *index) firm(g *grant) span {
	s := span{g.okT, g.believedEnd}
	if ix.opt.TTL > 0 {
		s.to = min(s.to, satAdd(g.okT, int64(spent*float64(ix.opt.TTL))))
	}
	harm := ix.harmTo(g.process)
	n, _ := slices.BinarySearchFunc(harm, g.lo, func(h span, t int64) int { return cmp.Compare(h.to, t) })
	if n < len(harm) {
		s.to = min(s.to, harm[n].from)
	}
	return s
}

// harmTo lists when a fault was on that can explain what a client of this name lost:
// one on itself, on the service or on all, landed or not, and for as long again as it
// lasted, while it may still be felt (see unsettled).
func (ix *index) harmTo(process string) []span {
	if h, ok := ix.harm[process]; ok {
		return h
	}
	var list []span
	for _, f := range ix.faults { // by begin
		if !ix.concerns(f, process) {
			continue
		}
		until := satAdd(f.end, min(f.end-f.begin, int64(Settle)))
		if n := len(list); n > 0 && f.begin <= list[n-1].to {
			list[n-1].to = max(list[n-1].to, until)
			continue
		}
		list = append(list, span{f.begin, until})
	}
	if ix.harm == nil {
		ix.harm = map[string][]span{}
	}
	ix.harm[process] = list
	return list
}

// concerns says whether a fault can have an effect on this client. A network that is cut
// between clients and others is whole for the clients that are not named.
func (ix *index) concerns(f fault, process string) bool {
	if len(f.nodes) == 0 || slices.Contains(f.nodes, process) {
		return true
	}
	clients := 0
	for _, n := range f.nodes {
		if p := ix.processes.get(n); p != nil && p.client {
			clients++
		}
	}
	if baseName(f.name) == "partition" && clients > 0 {
		return false
	}
	return clients < len(f.nodes)
}

// staleRelease is the last release between two grants that were given together by which
// a third client gave back a grant that was older than theirs, and to which the service
// agreed; nil if there is none.
func (ix *index) staleRelease(d doublePair) *op {
	victim := d.older[len(d.older)-1]
	list := victim.lock.released
	n, _ := slices.BinarySearchFunc(list, d.newer.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for i := n - 1; i >= max(0, n-64) && list[i].invT > victim.okT; i-- { // bounded, as in findWrong
		if o := list[i]; o.typ == tOK && ix.foreign(o, victim, d.newer) {
			return o
		}
	}
	return nil
}

func findDoubleGrants(ix *index) []Anomaly {
	wrong := ix.findWrong()
	var out []Anomaly
	for _, d := range ix.findDoubles() {
		newer := d.newer
		a := Anomaly{
			Name: "double-grant", Property: Exclusion, Key: newer.lock.name, Time: newer.okT, Sizes: map[string]int64{},
		}
		places, until, from := []int32{newer.ok}, ix.firmEnd(newer), newer.okT
		for _, g := range d.older {
			a.Grants = append(a.Grants, g.id)
			places = append(places, g.ok)
			if !g.timeless() {
				places = append(places, g.proof(newer.okT)...)
			}
			until, from = min(until, ix.firmEnd(g)), min(from, g.okT)
		}
		a.Grants, a.Processes = append(a.Grants, newer.id), processesOf(d.older)
		a.Sizes["overlap"] = until - newer.okT
		a.Explanation = fmt.Sprintf("%s by %s, while %s, and nothing had ended that: not released, no lease known to be over, no fault on them or on the service; %s held it for %s",
			newer.gets(), clock(newer.okT), d.holdWords(), d.all(), dur(a.Sizes["overlap"]))
		switch w := wrong[newer]; {
		case w != nil:
			a.Cause = "wrong-release"
			a.Explanation += fmt.Sprintf("; %s had released at %s a lock that it no longer held", w.by.process, clock(w.release.invT))
			places = append(places, w.by.ok, w.release.inv, w.release.comp, w.next.loProof(), ix.orderProof(w.by, w.victim))
		case d.release != nil:
			a.Explanation += fmt.Sprintf("; in between, at %s, %s had released what it was granted before, and the service agreed", clock(d.release.invT), d.release.process)
		}
		a.Events = ix.at(places...)
		out = append(out, ix.finish(a, from, newer.process))
	}
	return out
}

// firmEnd is until when the grant was held by all that is known.
func (ix *index) firmEnd(g *grant) int64 {
	if g.timeless() {
		return ix.firm(g).to
	}
	return g.aliveUntil(g.okT)
}

// holdWords says who held the lock: "c1 held it (c1.1), granted 20 ms earlier".
func (d doublePair) holdWords() string {
	if n := len(d.older); n > 1 {
		return fmt.Sprintf("%s held all %d permits", andWords(processesOf(d.older)), n)
	}
	g := d.older[0]
	how := "held it"
	if g.mode == shared {
		how = "shared it"
	}
	return fmt.Sprintf("%s %s%s, granted %s earlier", g.process, how, g.with(), dur(d.newer.okT-g.okT))
}

func (d doublePair) all() string {
	if len(d.older) == 1 {
		return "both"
	}
	return "all"
}
