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

// linkWords are what links are written with.
const linkWords = "[:server|one|leader|halves|minority|majority|holder|waiter|client|NODE][:servers|clients|register][:in|out]"

// sides are the links of a fault, and the nodes at their two ends.
type sides struct {
	inside []compose.Node // the target; of a request, Nodes
	others string         // the other end, in words
	dir    string         // "in": the links lead to inside only; "out": from it only; "" both
	links  []directedLink
	hit    []string // inside, and the other end if it is one node or a request's Peers
}

// parseLinks reads the words for the links of a fault: the target, those at the other end, the
// direction.
func parseLinks(words []string) (Plan, error) {
	p := Plan{target: one}
	for i, w := range words {
		switch w {
		case "servers":
			p.links = compose.Server
		case "clients":
			p.links = compose.Client
		case "register":
			p.links = compose.Register
		case "in", "out":
			if p.dir != "" && p.dir != w {
				return p, errors.New("in and out: leave both away for both directions")
			}
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

// linksLast is how long a fault of links stays on.
func linksLast(e *Env, p Plan, rng *rand.Rand) time.Duration {
	if p.target == holder {
		return untilHarm(e, rng)
	}
	return between(rng, e.TTL, 1, 3)
}

// sides are the links of the plan: those between the target and the others. None inside means
// that there is no node to hit now.
func (p Plan) sides(ctx context.Context, e *Env, c chance) (s sides, err error) {
	if p.named() {
		return p.namedSides(e)
	}
	if p.target == halves {
		s.inside = half(e.Cluster.Nodes(), c.rng)
	} else if s.inside, err = p.target.pick(ctx, e, c.rng, c.holder); err != nil || len(s.inside) == 0 {
		return sides{}, err
	}
	s.links = p.around(e, e.Cluster.Nodes(), s.inside)
	if len(s.links) == 0 {
		others := map[compose.Role]string{"": "others", compose.Server: "other servers", compose.Client: "other clients", compose.Register: "the register"}
		return sides{}, fmt.Errorf("%s has no link to %s", p.target, others[p.links])
	}
	s.dir, s.hit = p.dir, linked(s.inside, s.links)
	switch {
	case p.links != "":
		s.others = string(p.links)
	case s.inside[0].Role == compose.Client:
		s.others = "servers"
	case s.inside[0].External != "":
		s.others = "clients"
	default:
		s.others = "servers and clients"
	}
	return s, nil
}

// namedSides are the links from some nodes to others, and with Both back as well.
func (p Plan) namedSides(e *Env) (s sides, err error) {
	if s.inside, err = e.named(p.Nodes); err != nil {
		return sides{}, err
	}
	to, err := e.named(p.Peers)
	if err != nil {
		return sides{}, err
	}
	s.others, s.hit = strings.Join(p.Peers, ", "), both(p.Nodes, p.Peers)
	if !p.Both {
		s.dir = "out"
	}
	s.links, err = linksBetween(s.inside, to, p.Both)
	return s, err
}

// who names the nodes inside.
func (s sides) who() string { return strings.Join(names(s.inside), ", ") }

// linked are the nodes that a fault of these links hits: inside, and the other end if that
// is one node.
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

// around are the links between those inside and the rest of the nodes.
func (p Plan) around(e *Env, nodes, inside []compose.Node) (links []directedLink) {
	var outside []compose.Node
	for _, n := range nodes {
		if !contains(inside, n.Name) && (p.wants(n.Role) || p.links == "" && e.Asks && n.Role == compose.Register) {
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
				continue // the register is among them because it asks the servers
			}
			if p.dir != "in" {
				links = append(links, directedLink{from: a.Name, to: b.Name})
			}
			if p.dir != "out" {
				links = append(links, directedLink{from: b.Name, to: a.Name})
			}
		}
	}
	return links
}

func (p Plan) wants(r compose.Role) bool {
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

func contains(nodes []compose.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n compose.Node) bool { return n.Name == name })
}

// both joins two lists of names.
func both(a, b []string) []string {
	out := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
