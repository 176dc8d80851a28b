package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
)

// fault is one injection.
type fault struct {
	name       string
	nodes      []string
	begin, end int64
	ended      bool
	landed     bool
}

// readFault pairs a fault's begin with its end, by name and nodes.
func (ix *index) readFault(e *history.Event, t int64) {
	id := e.F + "\x00" + strings.Join(e.Nodes, "\x00")
	c := ix.stats.Faults[e.F]
	switch e.Phase {
	case history.Begin:
		c.Injected++
		if e.Landed {
			c.Landed++
		}
		ix.open[id] = append(ix.open[id], len(ix.faults))
		ix.faults = append(ix.faults, fault{name: e.F, nodes: e.Nodes, begin: t, landed: e.Landed})
	case history.End:
		if list := ix.open[id]; len(list) > 0 {
			f := &ix.faults[list[0]]
			f.end, f.ended = t, true
			ix.open[id] = list[1:]
		}
	}
	switch {
	case e.F != Stall:
		ix.stats.Faults[e.F] = c
	case e.Phase == history.Begin:
		ix.stats.Stalls++
	}
	if baseName(e.F) != "kill" {
		return
	}
	// Somewhere between begin and end the process dies, if it does: from begin on
	// nothing is known of what it believes or waits for.
	for _, n := range e.Nodes {
		p := ix.proc(n)
		switch e.Phase {
		case history.Begin:
			p.dying++
		case history.End:
			p.dying = max(0, p.dying-1)
		}
		for _, g := range slices.Clone(p.held) {
			ix.endBelief(g, t)
		}
		// The acquire stays open for pairing (the kill may have missed), but
		// nobody is known to wait for it any more.
		if p.acquire != nil && p.acquire.endT == never {
			p.acquire.endT = t
			p.acquire.lock.open--
		}
	}
}

// Stall is the name under which a history says that the machine itself stood still: it
// excuses what a fault would, and nobody injected it.
const Stall = "stall"

// Settle is how long a cut network may be felt at most after it was healed: services
// give a silent connection up before (etcd's peers after 5 s, ZooKeeper's after some
// ticks).
const Settle = 15 * time.Second

// unsettled lists when cuts of the network may be felt. A sender that hears nothing
// doubles the time to its next attempt (RFC 6298, 5.5): one that was cut off for some
// seconds, or at each of its attempts, may stay silent for as many seconds after.
func (ix *index) unsettled() []span {
	var out []span
	for _, f := range ix.faults { // by begin
		if baseName(f.name) != "partition" || !f.ended {
			continue
		}
		if n := len(out); n == 0 || f.begin > out[n-1].to {
			out = append(out, span{from: f.begin})
		}
		s := &out[len(out)-1]
		s.to = max(s.to, satAdd(f.end, min(f.end-s.from, int64(Settle))))
	}
	return out
}

// baseName is a fault's name without what follows a colon.
func baseName(f string) string {
	base, _, _ := strings.Cut(f, ":")
	return base
}

// faultsOn lists the landed faults that were on at some time in [from, to].
func (ix *index) faultsOn(from, to int64) []*fault {
	n, _ := slices.BinarySearchFunc(ix.faults, to, func(f fault, t int64) int {
		if f.begin <= t {
			return -1
		}
		return 1
	})
	var out []*fault
	for i := n - 1; i >= 0 && ix.reach[i] >= from; i-- {
		if f := &ix.faults[i]; f.landed && f.end >= from {
			out = append(out, f)
		}
	}
	slices.Reverse(out)
	return out
}
