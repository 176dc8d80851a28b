package nemesis

import (
	"context"
	"errors"
	"time"

	"github.com/picklock/picklock/compose"
)

var partitionKind = Kind{
	Name:     "partition",
	About:    "drop all packets between groups of nodes",
	Usage:    "[:server|one|leader|halves|bridge|ring|minority|majority|holder|waiter|client|NODE][:servers|clients|register][:in|out]",
	Parse:    parsePartition,
	Make:     makePartition,
	Lasts:    linksLast,
	Plain:    []string{"one", "client"},
	Share:    2,
	All:      []string{"holder:servers", "holder:register", "waiter", "client", "client:in", "leader", "leader:servers:out", "halves", "bridge", "ring", "majority"},
	Overlaps: true, // cuts are counted
	Possible: func(e *Env) error {
		if !e.Isolated {
			return errors.New("this machine cannot cut a network: the nodes share one (picklock doctor says why)")
		}
		return nil
	},
}

// parsePartition reads which links are cut. Without a word for the links, a server is
// cut from the other servers and from the clients, and from a register that asks the
// servers; a client from the servers.
func parsePartition(words []string) (Plan, error) {
	p, err := parseLinks(words)
	switch {
	case err != nil:
		return p, err
	case p.target == ring && (p.dir != "" || p.links != "" && p.links != compose.Server):
		return p, errors.New("a ring is of servers, and has no direction: leave out what follows")
	case p.target == bridge && p.links != "" && p.links != compose.Server:
		return p, errors.New("a bridge is between servers and clients, or with the word servers between those alone")
	}
	return p, nil
}

func makePartition(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	switch p.target {
	case bridge:
		return makeBridge(e, p, c)
	case ring:
		return makeRing(e, c)
	}
	s, err := p.sides(ctx, e, c)
	if err != nil || len(s.inside) == 0 {
		return nil, err
	}
	return &partition{env: e, nodes: s.hit, links: s.links, harm: p.harm(e, s.inside, c), detail: s.cutOff()}, nil
}

// cutOff says what a cut of the links means.
func (s sides) cutOff() string {
	switch s.dir {
	case "in":
		return s.who() + " hears nothing from " + s.others
	case "out":
		return s.who() + " is not heard by " + s.others
	}
	return s.who() + " cut off from " + s.others
}

type partition struct {
	env    *Env
	nodes  []string // that are hit: inside, and the other end if that is one node
	links  []directedLink
	harm   <-chan struct{}
	detail string
}

func (p *partition) Nodes() []string { return p.nodes }
func (p *partition) Detail() string  { return p.detail }
func (p *partition) Steps() []string { return linkSteps("cut", p.links, "") }

// Await implements Awaiter, as for a paused holder.
func (p *partition) Await() <-chan struct{} { return p.harm }

// Least implements Lasting. TCP sends what was dropped again after 200 ms: a request whose answer was dropped is given up
// only if the cut is longer than that.
func (p *partition) Least() time.Duration { return 300 * time.Millisecond }

func (p *partition) Inject(ctx context.Context) error { return p.env.net.cut(ctx, p, p.links) }

// Verify sends a packet along every direction that was cut and looks whether the
// filter at its end dropped it and nothing came back.
func (p *partition) Verify(ctx context.Context) error {
	errs := make(chan error, len(p.links))
	for _, c := range p.links {
		go func() { errs <- p.env.net.probe(ctx, c) }()
	}
	var all error
	seen := 0
	for range p.links {
		switch err := <-errs; {
		case err == nil:
			seen++
		case errors.Is(err, errDown): // counts as cut; reapplied on restart
		default:
			all = errors.Join(all, err)
		}
	}
	if all == nil && seen == 0 {
		return errDown
	}
	return all
}

func (p *partition) Heal(ctx context.Context) error { return p.env.net.uncut(ctx, p, p.links) }
