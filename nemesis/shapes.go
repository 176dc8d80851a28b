package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/picklock/picklock/compose"
)

// Shapes of partitions, where a target's word would name who is cut off.
const (
	// halves splits servers and clients into two groups each.
	halves target = "halves"
	// bridge does so, too, but for one server, which both groups reach.
	bridge target = "bridge"
	// ring leaves every server a majority that it hears, and no two of them the same.
	ring target = "ring"
)

// shape makes the cuts of a partition that is more than one group and the rest. A nil
// fault: the target is no such word.
func (p partitionPlan) shape(e *Env, rng *rand.Rand) (*partition, error) {
	var servers []compose.Node
	for _, n := range e.Cluster.Nodes() {
		if n.Role == compose.Server {
			servers = append(servers, n)
		}
	}
	rng.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	switch p.target {
	case bridge:
		if len(servers) < 3 {
			return nil, fmt.Errorf("partition bridge: needs three servers, one to be between the others; there are %d", len(servers))
		}
		return p.bridge(e, servers[0], rng)
	case ring:
		return p.ring(e, servers)
	}
	return nil, nil
}

func (p partitionPlan) bridge(e *Env, middle compose.Node, rng *rand.Rand) (*partition, error) {
	others := slices.DeleteFunc(slices.Clone(e.Cluster.Nodes()), func(n compose.Node) bool {
		return n.Name == middle.Name || p.links == compose.Server && n.Role != compose.Server
	})
	f := &partition{env: e, plan: p, inside: half(others, rng)}
	f.links = p.around(e, others, f.inside)
	if len(f.links) == 0 {
		return nil, errors.New("partition bridge: there is no link to cut")
	}
	f.nodes = ends(f.links)
	left := names(f.inside)
	right := slices.DeleteFunc(slices.Clone(f.nodes), func(n string) bool { return slices.Contains(left, n) })
	f.detail = fmt.Sprintf("%s cut off from %s; %s hears both", strings.Join(left, ", "), strings.Join(right, ", "), middle.Name)
	switch p.dir {
	case "in":
		f.detail = fmt.Sprintf("%s hears nothing from %s; %s hears both", strings.Join(left, ", "), strings.Join(right, ", "), middle.Name)
	case "out":
		f.detail = fmt.Sprintf("%s not heard by %s; %s hears both", strings.Join(left, ", "), strings.Join(right, ", "), middle.Name)
	}
	return f, nil
}

// ring cuts servers that are not neighbours, in the order given. How far each reaches to
// both sides is chosen so that it and they are a majority. Of three, each is the others'
// neighbour: there each hears the next one only.
func (p partitionPlan) ring(e *Env, servers []compose.Node) (*partition, error) {
	n := len(servers)
	if n < 3 {
		return nil, fmt.Errorf("partition ring: needs three servers; there are %d", n)
	}
	reach := (n/2 + 1) / 2 // to each side: n/2 others make a majority with oneself
	f := &partition{env: e, plan: p, inside: servers}
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
