package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/picklock/picklock/compose"
)

// Shapes of partitions, in the place of a target.
const (
	// halves splits servers and clients into two groups each.
	halves target = "halves"
	// bridge does so, too, but for one server, which both groups reach.
	bridge target = "bridge"
	// ring leaves every server a majority that it hears, and no two of them the same.
	ring target = "ring"
)

// shuffled are the servers in a random order, at least three.
func shuffled(e *Env, shape target, rng *rand.Rand) ([]compose.Node, error) {
	var servers []compose.Node
	for _, n := range e.Cluster.Nodes() {
		if n.Role == compose.Server {
			servers = append(servers, n)
		}
	}
	if len(servers) < 3 {
		return nil, fmt.Errorf("partition %s: needs three servers; there are %d", shape, len(servers))
	}
	rng.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	return servers, nil
}

func makeBridge(e *Env, p Plan, c chance) (Fault, error) {
	servers, err := shuffled(e, bridge, c.rng)
	if err != nil {
		return nil, err
	}
	middle := servers[0].Name
	rest := slices.DeleteFunc(slices.Clone(e.Cluster.Nodes()), func(n compose.Node) bool {
		return n.Name == middle || p.links == compose.Server && n.Role != compose.Server
	})
	s := sides{inside: half(rest, c.rng), dir: p.dir}
	s.links = p.around(e, rest, s.inside)
	if len(s.links) == 0 {
		return nil, errors.New("partition bridge: there is no link to cut")
	}
	nodes := ends(s.links)
	s.others = strings.Join(slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return contains(s.inside, n) }), ", ")
	return &partition{env: e, nodes: nodes, links: s.links, detail: s.cutOff() + "; " + middle + " hears both"}, nil
}

// makeRing cuts servers that are not neighbours, in a random order. How far each reaches to
// both sides is chosen so that it and they are a majority. Of three, each is the others'
// neighbour: there each hears the next one only.
func makeRing(e *Env, c chance) (Fault, error) {
	servers, err := shuffled(e, ring, c.rng)
	if err != nil {
		return nil, err
	}
	n := len(servers)
	reach := (n/2 + 1) / 2 // to each side: n/2 others make a majority with oneself
	f := &partition{env: e}
	for i, a := range servers {
		for j, b := range servers {
			if apart := min((i-j+n)%n, (j-i+n)%n); apart > reach || n == 3 && (j-i+n)%n == 1 {
				f.links = append(f.links, directedLink{from: a.Name, to: b.Name})
			}
		}
	}
	hears := "its neighbours"
	switch {
	case n == 3:
		hears = "the next one"
	case reach > 1:
		hears = fmt.Sprintf("its %d neighbours on each side", reach)
	}
	f.nodes = ends(f.links)
	f.detail = fmt.Sprintf("each hears only %s in the ring %s", hears, strings.Join(names(servers), ", "))
	return f, nil
}
