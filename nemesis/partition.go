package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
)

var partitionKind = Kind{
	Name:     "partition",
	About:    "drop all packets between groups of nodes",
	Usage:    "[:server|one|leader|halves|bridge|ring|minority|majority|holder|waiter|client|NODE][:servers|clients|register][:in|out]",
	Parse:    parsePartition,
	Make:     makePartition,
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

// partitionPlan cuts the target off. Without a word for the links, a server is
// cut from the other servers and from the clients, and from a register that asks the
// servers; a client from the servers.
type partitionPlan struct {
	target target
	links  compose.Role // only links to nodes of this role; "" all but the register
	dir    string       // "in": what comes to the target is lost; "out": what it sends; "" both
}

func parsePartition(words []string) (Plan, error) {
	p, err := parseLinks(words)
	switch {
	case err != nil:
		return nil, err
	case p.target == ring && (p.dir != "" || p.links != "" && p.links != compose.Server):
		return nil, errors.New("a ring is of servers, and has no one way: leave out what follows")
	case p.target == bridge && p.links != "" && p.links != compose.Server:
		return nil, errors.New("a bridge is between servers and clients, or with the word servers between those alone")
	}
	return p, nil
}

// parseLinks reads the words for the links on which a fault is: the target, those at the
// other end, the direction.
func parseLinks(words []string) (partitionPlan, error) {
	p := partitionPlan{target: one}
	for i, w := range words {
		switch w {
		case "servers":
			p.links = compose.Server
		case "clients":
			p.links = compose.Client
		case "register":
			p.links = compose.Register
		case "in", "out":
			p.dir = w
		case "":
			return p, errors.New("empty word")
		default:
			if i > 0 {
				return p, fmt.Errorf("unknown word %q", w)
			}
			p.target = target(w)
		}
	}
	return p, nil
}

func (p partitionPlan) Trigger() Trigger {
	if p.target == holder {
		return WhileHeld
	}
	return Sometimes
}

func (p partitionPlan) Duration(e *Env, rng *rand.Rand) time.Duration {
	if p.target == holder {
		return untilHarm(e, rng)
	}
	return between(rng, e.TTL, 1, 3)
}

func (p partitionPlan) Pick(ctx context.Context, e *Env, rng *rand.Rand, holding string) (Fault, error) {
	if f, err := p.shape(e, rng); err != nil {
		return nil, err
	} else if f != nil {
		return f, nil
	}
	inside, cuts, err := p.choose(ctx, e, rng, holding)
	if err != nil || len(inside) == 0 {
		return nil, err
	}
	f := &partition{env: e, plan: p, inside: inside, nodes: linked(inside, cuts), links: cuts}
	if p.target == holder {
		f.harm = e.watch.harm(inside[0].Name, rng.IntN(3) > 0)
	}
	return f, nil
}

// linked are the nodes that are hit where these links are: inside, and the other end
// where it is one node.
func linked(inside []compose.Node, links []directedLink) []string {
	out := names(inside)
	if len(inside) != 1 {
		return out
	}
	others := map[string]bool{}
	for _, x := range links {
		others[x.from], others[x.to] = true, true
	}
	delete(others, inside[0].Name)
	if len(others) == 1 {
		for name := range others {
			out = append(out, name)
		}
	}
	return out
}

// choose picks the target, and the links between it and the others, by direction. No
// target means that there is nobody to hit now.
func (p partitionPlan) choose(ctx context.Context, e *Env, rng *rand.Rand, holding string) (inside []compose.Node, links []directedLink, err error) {
	if p.target == halves {
		inside = half(e.Cluster.Nodes(), rng)
	} else if inside, err = p.target.pick(ctx, e, rng, holding); err != nil || len(inside) == 0 {
		return nil, nil, err
	}
	links = p.around(e, e.Cluster.Nodes(), inside)
	if len(links) == 0 {
		others := map[compose.Role]string{"": "others", compose.Server: "other servers", compose.Client: "other clients", compose.Register: "the register"}
		return nil, nil, fmt.Errorf("%s has no link to %s", p.target, others[p.links])
	}
	return inside, links, nil
}

// around are the links between those inside and the rest of the nodes.
func (p partitionPlan) around(e *Env, nodes, inside []compose.Node) (links []directedLink) {
	var outside []compose.Node
	for _, n := range nodes {
		if !contains(inside, n) && (p.wants(n.Role) || p.links == "" && e.Asks && n.Role == compose.Register) {
			outside = append(outside, n)
		}
	}
	for _, a := range inside {
		for _, b := range outside {
			if a.Role == compose.Client && b.Role == compose.Client {
				continue // they never speak to each other
			}
			if external(a, b) {
				continue // they speak to each other elsewhere
			}
			if p.links == "" && a.Role == compose.Client && b.Role == compose.Register {
				continue // the register is among them as one who asks the servers
			}
			if p.dir != "out" {
				links = append(links, directedLink{from: b.Name, to: a.Name})
			}
			if p.dir != "in" {
				links = append(links, directedLink{from: a.Name, to: b.Name})
			}
		}
	}
	return links
}

func (p partitionPlan) wants(r compose.Role) bool {
	if p.links == "" {
		return r != compose.Register
	}
	return r == p.links
}

// half takes a random half of the servers and of the clients.
func half(nodes []compose.Node, rng *rand.Rand) []compose.Node {
	var out []compose.Node
	for _, role := range []compose.Role{compose.Server, compose.Client} {
		var group []compose.Node
		for _, n := range nodes {
			if n.Role == role {
				group = append(group, n)
			}
		}
		rng.Shuffle(len(group), func(i, j int) { group[i], group[j] = group[j], group[i] })
		out = append(out, group[:len(group)/2]...)
	}
	return out
}

func contains(nodes []compose.Node, n compose.Node) bool {
	return slices.ContainsFunc(nodes, func(m compose.Node) bool { return m.Name == n.Name })
}

// makePartition cuts the ways from some nodes to others, and with Both back as well.
func makePartition(e *Env, r FaultRequest) (Fault, error) {
	from, err := e.named(r.Nodes)
	if err != nil {
		return nil, err
	}
	to, err := e.named(r.Peers)
	if err != nil {
		return nil, err
	}
	f := &partition{env: e, inside: from, nodes: names(from)}
	for _, name := range names(to) {
		if !slices.Contains(f.nodes, name) {
			f.nodes = append(f.nodes, name)
		}
	}
	for _, a := range from {
		for _, b := range to {
			if a.Name == b.Name {
				return nil, fmt.Errorf("%s cannot be cut off from itself", a.Name)
			}
			f.links = append(f.links, directedLink{from: a.Name, to: b.Name})
			if r.Both {
				f.links = append(f.links, directedLink{from: b.Name, to: a.Name})
			}
		}
	}
	f.detail = strings.Join(names(from), ", ") + " not heard by " + strings.Join(names(to), ", ")
	if r.Both {
		f.detail = strings.Join(names(from), ", ") + " cut off from " + strings.Join(names(to), ", ")
	}
	return f, nil
}

type partition struct {
	env    *Env
	plan   partitionPlan
	inside []compose.Node
	nodes  []string // who is hit: inside, and the other end where it is one node
	links  []directedLink
	harm   <-chan struct{}
	detail string // "": from the plan
}

func (p *partition) Nodes() []string { return p.nodes }

func (p *partition) Detail() string {
	if p.detail != "" {
		return p.detail
	}
	who := strings.Join(names(p.inside), ", ")
	from := p.plan.others(p.inside)
	switch p.plan.dir {
	case "in":
		return who + " hears nothing from " + from
	case "out":
		return who + " is not heard by " + from
	}
	return who + " cut off from " + from
}

// others says in a word whom the links lead to.
func (p partitionPlan) others(inside []compose.Node) string {
	switch {
	case p.links != "":
		return string(p.links)
	case inside[0].Role == compose.Client:
		return "servers"
	case inside[0].External != "":
		return "clients"
	}
	return "servers and clients"
}

// Await implements Awaiter, as for a paused holder.
func (p *partition) Await() <-chan struct{} { return p.harm }

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
		case errors.Is(err, errDown): // as good as cut; it is when the node comes back
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
