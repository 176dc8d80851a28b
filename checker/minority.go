package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// minority is the cause of a grant that was given while its client could not be answered by a majority of the servers. With fewer, two clients can each have
// what they need at once.
const minority = "minority"

// byFew is a grant, or the renewal by which it was in force, which only a minority of the servers can have answered.
type byFew struct {
	of       *grant
	did      string // what the client was answered
	inv, ok  int32
	from, to int64
	silent   int      // servers that cannot have answered
	faults   []*fault // kept them from it, all on in full from the request to its answer; the last one to begin first
}

// grantedByFew finds such a grant or renewal among the grants that met.
func (an *analysis) grantedByFew(e earlyPair) (byFew, bool) {
	if an.opt.Leaderless < 3 {
		return byFew{}, false
	}
	for _, g := range append(slices.Clone(e.older), e.newer) {
		b := byFew{of: g, did: "was granted the lock", inv: g.inv, ok: g.ok, from: g.invT, to: g.okT}
		if r := g.renewalAt(e.from); r != nil {
			b = byFew{of: g, did: "renewed its lease", inv: r.inv, ok: r.ok, from: r.invT, to: r.okT}
		}
		if an.minorityOf(&b) {
			return b, true
		}
	}
	return byFew{}, false
}

// renewalAt is the renewal by which the grant was in force at t, or by the answer to which it was; nil if it was by itself.
func (g *grant) renewalAt(t int64) *renewal {
	if g.grantedBeyond(t) {
		return nil
	}
	if r := g.renewed.furthest(t); r != nil && r.until > t {
		return r
	}
	return g.renewed.provesBeyond(t)
}

// minorityOf says that faults kept a majority from answering, and notes which.
func (an *analysis) minorityOf(b *byFew) bool {
	if b.inv < 0 {
		return false
	}
	silent := map[string]bool{}
	for _, f := range an.faults.confirmed.latest(nil, b.from, b.to) {
		if f.begin > b.from || f.healing < b.to {
			continue
		}
		if some := f.silences(b.of.process); len(some) > 0 {
			b.faults = append(b.faults, f)
			for _, n := range some {
				silent[n] = true
			}
		}
	}
	b.silent = len(silent)
	return b.silent >= an.opt.Leaderless-an.opt.Leaderless/2
}

// blame blames these faults.
func (b byFew) blame() blamed {
	var why blamed
	for _, f := range slices.Backward(b.faults) {
		p := part{fault: f, side: verdict.OnServer}
		if f.hits(b.of.process) {
			p.side = verdict.OnClient
		}
		why.parts = append(why.parts, p)
	}
	why.suspect = &why.parts[len(why.parts)-1]
	return why
}

// silences lists the servers that cannot answer a client as long as the fault is on.
func (f *fault) silences(process string) []string {
	switch name := baseName(f.name); {
	case f.clients == 0 && slices.Contains([]string{"kill", "powerloss", "pause", "refuse"}, name):
	case f.clients == 1 && (name == "partition" || name == "hold") && f.isOfAll(process):
	default:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.nodes), func(n string) bool { return n == process || n == registerNode })
}

// isOfAll says that the fault was between a client and all other nodes that it names, and not between two groups of nodes.
func (f *fault) isOfAll(process string) bool {
	_, sides, ok := strings.Cut(f.steps, ": ")
	for _, between := range []string{" from ", " to "} {
		if from, to, found := strings.Cut(sides, between); ok && found {
			return from == process || to == process
		}
	}
	return false
}

// words say how few they were.
func (b byFew) words(servers int) string {
	return fmt.Sprintf("; %s %s at %s while %d of %d servers could not answer it", b.of.process, b.did, format.Instant(b.to), b.silent, servers)
}

// minority says of an early grant that fewer servers than a majority gave it.
func (c *earlyCase) minority() (reason, bool) {
	b, ok := c.an.grantedByFew(c.earlyPair)
	if !ok {
		return reason{}, false
	}
	blame := b.blame()
	return reason{cause: minority, words: b.words(c.an.opt.Leaderless), refs: []int32{b.inv, b.ok}, blame: &blame}, true
}
