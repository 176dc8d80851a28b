package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/internal/format"
)

// noServer is the cause of a grant that no server can have given: every one was down, stopped or out of its client's reach from
// the request to the answer. The client, or its library, took an error or its own memory for a grant.
const noServer = "no-server"

// inEffect is how long it may take, from a fault's begin as a history has it, until no server answers any more. A grant that
// was asked for sooner may have been given.
const inEffect = int64(200 * time.Millisecond)

// byNobody says that no server can have given the grant, for faults that had begun so long before it was asked for. An inner entry
// needs no server.
func (an *analysis) byNobody(g *grant, before int64) (byFew, bool) {
	b := byFew{of: g, did: "was granted the lock", inv: g.inv, ok: g.ok, from: g.invT - before, to: g.okT}
	if an.opt.Servers < 1 || g.mode == nested || !an.minorityOf(&b) || b.silent < an.opt.Servers {
		return b, false
	}
	b.from = g.invT
	return b, !slices.ContainsFunc(b.faults, func(f *fault) bool { return baseName(f.name) == "refuse" })
}

// nobodysPair is a grant that no server can have given, and one that another client had at the same time.
type nobodysPair struct {
	doublePair
	by byFew
}

// grantedByNobody finds the grants that no server can have given, and that promise no lease, while another client had the lock, or before
// another one was granted it. Leases are looked at where two of them overlap. Whether a fault ended what the other client had does
// not matter: nobody can have given the lock away meanwhile.
func (an *analysis) grantedByNobody() []nobodysPair {
	if an.opt.Servers < 1 || an.opt.widened { // when which fault was on is not known well enough then
		return nil
	}
	var out []nobodysPair
	known := an.overlaps.wrongGrants()
	for _, k := range an.locks {
		given := map[*grant]byFew{}
		for _, g := range k.grants {
			if !g.hasNoLease() || g.inv < 0 {
				continue
			}
			if b, ok := an.byNobody(g, inEffect); ok {
				given[g] = b
			}
		}
		c := k.capacity()
		if len(given) == 0 || c == nil {
			continue
		}
		first := true
		for _, p := range an.believedHolds(k, given) {
			older := c.conflicts(p)
			c.add(p)
			if k.mutex() && older != nil && older[0].g.process == p.g.process || older == nil || known[p.g] {
				continue
			}
			for _, g := range append([]*grant{p.g}, grantsOf(older)...) {
				if b, ok := given[g]; ok {
					known[p.g] = true
					out = append(out, nobodysPair{doublePair{newer: p.g, crowd: crowdOf(older, first)}, b})
					first = false
					break
				}
			}
		}
	}
	return out
}

func grantsOf(list []holdInterval) []*grant {
	var out []*grant
	for _, p := range list {
		out = append(out, p.g)
	}
	return out
}

// believedHolds lists when clients had the lock as they could tell, by begin: of a grant that somebody gave, until a fault on its client.
func (an *analysis) believedHolds(k *lock, given map[*grant]byFew) []holdInterval {
	var out []holdInterval
	for _, g := range k.grants {
		if !g.hasNoLease() {
			for _, s := range g.intervals() {
				out = append(out, holdInterval{s, g})
			}
			continue
		}
		if s := an.believedHold(g, given); s.to > s.from {
			out = append(out, holdInterval{s, g})
		}
	}
	sortBy(out, func(p holdInterval) int64 { return p.from })
	return out
}

func (an *analysis) believedHold(g *grant, given map[*grant]byFew) interval {
	s := interval{g.okT, g.believedEnd}
	if an.opt.TTL > 0 && !g.watchdog {
		s.to = min(s.to, satAdd(g.okT, int64(spent*float64(an.opt.TTL))))
	}
	if _, ok := given[g]; !ok {
		s.to = min(s.to, an.faults.ownHarmFrom(g, g.lo))
	}
	return s
}

// nobodys are the anomalies of such pairs.
func (an *analysis) nobodys() []Anomaly {
	var out []Anomaly
	for _, d := range an.grantedByNobody() {
		newer := d.newer
		given := map[*grant]byFew{d.by.of: d.by}
		a := Anomaly{Key: newer.lock.name, Time: newer.okT, More: d.more, Cause: noServer, Sizes: map[string]int64{}}
		refs, until, from := []int32{newer.ok, d.by.inv, d.by.ok}, an.believedHold(newer, given).to, newer.okT
		for _, g := range d.older {
			a.Grants = append(a.Grants, g.id)
			refs, from = append(refs, g.ok), min(from, g.okT)
			if !g.hasNoLease() {
				refs = append(refs, g.evidenceAt(newer.okT)...)
				until = min(until, g.aliveUntil(newer.okT))
			} else {
				until = min(until, an.believedHold(g, given).to)
			}
		}
		a.Grants, a.Processes = append(a.Grants, newer.id), processesOf(d.older)
		a.Sizes["overlap"] = max(0, until-newer.okT)
		if n := newer.lock.permits; n > 0 {
			a.Sizes["permits"] = n
		}
		a.Explanation = fmt.Sprintf("%s by %s, while %s, and had not given it back%s", newer.gets(), format.Instant(newer.okT), d.holdWords(), d.by.nobodyWords())
		a.Events = an.evidence.at(refs...)
		out = append(out, an.evidence.finish(a, from, d.by.blame(), newer.process))
	}
	return out
}

// nobodyWords say that no server can have given it.
func (b byFew) nobodyWords() string {
	return fmt.Sprintf("; %s %s at %s while no server could answer it", b.of.process, b.did, format.Instant(b.to))
}

// noServer says of an early grant that one of the two was given by no server.
func (c *earlyCase) noServer() (reason, bool) {
	if c.an.opt.Leaderless > 2 {
		return reason{}, false // a minority of them is no better
	}
	for _, g := range append(slices.Clone(c.older), c.newer) {
		if b, ok := c.an.byNobody(g, 0); ok {
			blame := b.blame()
			return reason{cause: noServer, words: b.nobodyWords(), refs: []int32{b.inv, b.ok}, blame: &blame}, true
		}
	}
	return reason{}, false
}
