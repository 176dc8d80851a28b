package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/picklock/picklock/compose"
)

// target says which nodes a fault hits.
type target string

const (
	holder   target = "holder"   // the client that has read and not yet written
	waiter   target = "waiter"   // a client that has asked for the lock and has no answer yet
	client   target = "client"   // any one client
	leader   target = "leader"   // the server that leads; any one if none does
	serving  target = "server"   // the same as one
	one      target = "one"      // any one server
	minority target = "minority" // fewer than half of the servers, at least one
	majority target = "majority" // more than half of the servers
	all      target = "all"      // all servers
)

// MeansClients says that a word of a fault stands for some client: a server of that name would be hit in its place.
func MeansClients(word string) bool {
	return slices.Contains([]target{holder, waiter, client}, target(word))
}

// pick chooses the nodes. A word that is no target is a node's name.
func (t target) pick(ctx context.Context, e *Env, rng *rand.Rand, holding string) ([]compose.Node, error) {
	var servers, clients []compose.Node
	for _, n := range e.Cluster.Nodes() {
		switch n.Role {
		case compose.Server:
			servers = append(servers, n)
		case compose.Client:
			clients = append(clients, n)
		}
		if n.Name == string(t) {
			return []compose.Node{n}, nil
		}
	}
	shuffle := func(nodes []compose.Node) []compose.Node {
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		return nodes
	}
	some := func(nodes []compose.Node, n int) []compose.Node { return shuffle(nodes)[:min(n, len(nodes))] }
	switch t {
	case holder:
		if holding == "" {
			return nil, nil
		}
		return target(holding).pick(ctx, e, rng, "")
	case waiter:
		asking := e.watch.asking()
		return some(slices.DeleteFunc(clients, func(n compose.Node) bool { return !slices.Contains(asking, n.Name) }), 1), nil
	case client:
		return some(clients, 1), nil
	case one, serving:
		return some(servers, 1), nil
	case minority:
		return some(servers, max(1, (len(servers)-1)/2)), nil
	case majority:
		return some(servers, len(servers)/2+1), nil
	case all:
		return servers, nil
	case leader:
		name, err := e.Cluster.Leader(ctx)
		if err != nil {
			return nil, err
		}
		if name == "" {
			return some(servers, 1), nil
		}
		return target(name).pick(ctx, e, rng, "")
	}
	var names []string
	for _, n := range e.Cluster.Nodes() {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("no target or node %q: nodes are %s", t, strings.Join(names, ", "))
}

func names(nodes []compose.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name
	}
	return out
}

// allUp says that there are nodes and that none of them is down.
func allUp(nodes []compose.Node) bool {
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n compose.Node) bool { return n.PID == 0 })
}
