package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/picklock/picklock/compose"
)

// setCluster is a running cluster as one of several sets of clients sees it: what all share, and its
// own clients under the names that schedules use. No set sees another's clients.
type setCluster struct {
	compose.Cluster
	clients  []string
	number   int               // from 1; the first set's nodes have the names that schedules use
	versions map[string]string // nil: ask the servers
	died     chan error
}

func newSetCluster(c compose.Cluster, clients []string, number int) *setCluster {
	return &setCluster{Cluster: c, clients: clients, number: number, died: make(chan error, 16)}
}

// node is what the cluster calls one of the set's clients, or any other node.
func (c *setCluster) node(name string) string {
	if c.number == 1 || !slices.Contains(c.clients, name) {
		return name
	}
	return fmt.Sprintf("%s-%d", name, c.number)
}

// scope tells the packet filters of the set's faults from those of other sets.
func (c *setCluster) scope() string {
	if c.number == 1 {
		return ""
	}
	return fmt.Sprintf("-%d", c.number)
}

// own says which of the set's clients a node is; "" for no client of the set.
func (c *setCluster) own(node string) string {
	for _, name := range c.clients {
		if c.node(name) == node {
			return name
		}
	}
	return ""
}

// Nodes implements compose.Cluster.
func (c *setCluster) Nodes() []compose.Node {
	var out []compose.Node
	for _, n := range c.Cluster.Nodes() {
		if n.Role == compose.Client {
			if n.Name = c.own(n.Name); n.Name == "" {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// Spawn implements compose.Cluster.
func (c *setCluster) Spawn(ctx context.Context, p compose.Program) (*compose.Process, error) {
	p.Name = c.node(p.Name)
	return c.Cluster.Spawn(ctx, p)
}

// Kill implements compose.Cluster.
func (c *setCluster) Kill(ctx context.Context, node string) error {
	return c.Cluster.Kill(ctx, c.node(node))
}

// Versions implements compose.Cluster.
func (c *setCluster) Versions(ctx context.Context) map[string]string {
	if c.versions != nil {
		return c.versions
	}
	return c.Cluster.Versions(ctx)
}

// Died implements compose.Cluster: of the set's own clients, and of what all share.
func (c *setCluster) Died() <-chan error { return c.died }

// tell passes on the death of a node.
func (c *setCluster) tell(err error) {
	select {
	case c.died <- err:
	default: // the earlier ones have not been read
	}
}

// forget drops the deaths of nodes that have been replaced since; false if there were none.
func (c *setCluster) forget() (some bool) {
	for {
		select {
		case err := <-c.died:
			some = some || err != nil
		default:
			return some
		}
	}
}

// end ends the set's clients.
func (c *setCluster) end(ctx context.Context) error {
	for _, name := range c.clients {
		if !slices.ContainsFunc(c.Cluster.Nodes(), func(n compose.Node) bool { return n.Name == c.node(name) }) {
			continue
		}
		if err := c.Kill(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
