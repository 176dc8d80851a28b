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

// byNoServer says that no server can have given the grant, for faults that had begun so long before it was asked for. An inner entry
// needs no server.
func (an *analysis) byNoServer(g *grant, before int64) (byFew, bool) {
	b := byFew{of: g, did: "was granted the lock", inv: g.inv, ok: g.ok, from: g.invT - before, to: g.okT}
	if an.opt.Servers < 1 || g.mode == nested || !an.minorityOf(&b) || b.silent < an.opt.Servers {
		return b, false
	}
	b.from = g.invT
	return b, !slices.ContainsFunc(b.faults, func(f *fault) bool { return baseName(f.name) == "refuse" })
}

// noServerPair is a grant that no server can have given, and one that another client had at the same time.
type noServerPair struct {
	doublePair
	by    byFew
	until int64 // they had it together until then
}

// noServerPairs finds the grants that no server can have given, and that promise no lease, while another client had the lock, or before
// another one was granted it. Leases are looked at where two of them overlap. Whether a fault of the service ended what the other client had
// does not matter: nobody can have given the lock away meanwhile.
func (an *analysis) noServerPairs() []noServerPair {
	if an.opt.Servers < 1 || an.opt.widened { // when which fault was on is not known well enough then
		return nil
	}
	var out []noServerPair
	known := an.overlaps.wrongGrants()
	for k := range inTime(an.limit, an.locks) {
		given := map[*grant]byFew{}
		for _, g := range k.grants {
			if !g.hasNoLease() || g.inv < 0 {
				continue
			}
			if b, ok := an.byNoServer(g, inEffect); ok {
				given[g] = b
			}
		}
		c := k.capacity()
		if len(given) == 0 || c == nil {
			continue
		}
		first := true
		for _, p := range k.holdsBy(func(g *grant) interval { return an.heldUnlessHarmed(g, given) }) {
			older := c.conflicts(p)
			c.add(p)
			if older == nil || known[p.g] || k.mutex() && older[0].g.process == p.g.process {
				continue
			}
			with := crowdOf(older, first)
			for _, g := range append([]*grant{p.g}, with.older...) {
				if b, ok := given[g]; ok {
					out = append(out, noServerPair{doublePair{newer: p.g, crowd: with}, b, min(p.to, with.until)})
					first = false
					break
				}
			}
		}
	}
	return out
}

// heldUnlessHarmed is when a client had the lock as far as it could tell. What a server gave may end by a fault on the client.
func (an *analysis) heldUnlessHarmed(g *grant, given map[*grant]byFew) interval {
	s := an.holdRules.believedHold(g)
	if _, ok := given[g]; !ok {
		s.to = min(s.to, an.faults.ownHarmFrom(g, g.lo))
	}
	return s
}

// withoutServer are the double grants of such pairs.
func (an *analysis) withoutServer() []Anomaly {
	var out []Anomaly
	for _, d := range an.noServerPairs() {
		a, refs, from := an.doubleGrant(d.doublePair, d.until)
		a.Cause = noServer
		a.Explanation = fmt.Sprintf("%s by %s, while %s, and had not given it back%s", d.newer.gets(), format.Instant(d.newer.okT), d.holdWords(), d.by.noServerWords())
		a.Events = an.evidence.at(append(refs, d.by.inv, d.by.ok)...)
		out = append(out, an.evidence.finish(a, from, d.by.blame(), d.newer.process))
	}
	return out
}

// noServerWords say that no server can have given it.
func (b byFew) noServerWords() string {
	return fmt.Sprintf("; %s %s at %s while no server could answer it", b.of.process, b.did, format.Instant(b.to))
}

// noServer says of an early grant that one of the two was given by no server.
func (c *earlyCase) noServer() (reason, bool) {
	if c.an.opt.Leaderless > 2 {
		return reason{}, false // a minority of them is no better
	}
	for _, g := range append(slices.Clone(c.older), c.newer) {
		if b, ok := c.an.byNoServer(g, 0); ok {
			blame := b.blame()
			return reason{cause: noServer, words: b.noServerWords(), refs: []int32{b.inv, b.ok}, blame: &blame}, true
		}
	}
	return reason{}, false
}
