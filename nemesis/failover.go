package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/compose"
)

var failoverKind = Kind{
	Name:     "failover",
	About:    "make a replica the master, as a sentinel or an operator does",
	Usage:    "[:server|NODE]",
	All:      []string{""},
	Parse:    parseFailover,
	Make:     makeFailover,
	Possible: func(*Env) error { return nil },
	Servers:  true,
}

// NoReplicas says why a cluster can do no failover.
const NoReplicas = "nothing says how a replica of this cluster is promoted: its Compose file has no x-picklock.promote"

var errNoReplicas = errors.New(NoReplicas)

func parseFailover(words []string) (p Plan, err error) {
	p.target, err = serverTarget(words)
	return p, err
}

func makeFailover(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	nodes, err := p.promotable(ctx, e, c)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	if !p.named() {
		c.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	}
	return &failover{e, nodes[0]}, nil
}

// promotable are the plan's nodes. Where any server would do, they are those that do not lead.
func (p Plan) promotable(ctx context.Context, e *Env, c chance) ([]compose.Node, error) {
	_, node := e.node(string(p.target)) // a node may have the name of a target
	if node || p.target != one && p.target != serving {
		return p.victims(ctx, e, c)
	}
	var replicas []compose.Node
	for _, n := range e.Cluster.Nodes() {
		if n.Role != compose.Server || n.PID == 0 {
			continue
		}
		leads, err := e.Cluster.Leads(ctx, n.Name)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, errNoReplicas
		}
		if err == nil && !leads {
			replicas = append(replicas, n)
		}
	}
	return replicas, nil
}

// failover is not undone: the one that was promoted leads from then on.
type failover struct {
	env  *Env
	node compose.Node
}

func (f *failover) Nodes() []string { return []string{f.node.Name} }
func (f *failover) Detail() string  { return f.node.Name + " promoted" }
func (f *failover) Steps() []string { return []string{"failover: " + f.node.Name} }

func (f *failover) Inject(ctx context.Context) error {
	return f.env.Cluster.Promote(ctx, f.node.Name)
}

func (f *failover) Verify(ctx context.Context) error {
	leads, err := f.env.Cluster.Leads(ctx, f.node.Name)
	if err == nil && !leads {
		err = fmt.Errorf("%s does not say that it leads", f.node.Name)
	}
	return err
}

func (*failover) Heal(context.Context) error { return nil }
