package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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
const NoReplicas = "this cluster has no replicas to promote: its Compose file has no x-picklock.promote"

var errNoReplicas = errors.New(NoReplicas)

type failoverPlan struct{ target target }

func parseFailover(words []string) (Plan, error) {
	t, err := serverTarget(words)
	return failoverPlan{t}, err
}

func (failoverPlan) Trigger() Trigger { return Sometimes }

func (failoverPlan) Duration(*Env, *rand.Rand) time.Duration { return 0 }

func (p failoverPlan) Pick(ctx context.Context, e *Env, rng *rand.Rand, holding string) (Fault, error) {
	c, ok := e.Cluster.(compose.Promoting)
	if !ok {
		return nil, errNoReplicas
	}
	var replicas []compose.Node
	_, named := e.node(string(p.target)) // a node may have the name of a target
	if named || p.target != one && p.target != serving {
		var err error
		if replicas, err = p.target.pick(ctx, e, rng, holding); err != nil {
			return nil, err
		}
	} else {
		for _, n := range e.Cluster.Nodes() {
			if n.Role != compose.Server || n.PID == 0 {
				continue
			}
			leads, err := c.Leads(ctx, n.Name)
			if errors.Is(err, errors.ErrUnsupported) {
				return nil, errNoReplicas
			}
			if err == nil && !leads {
				replicas = append(replicas, n)
			}
		}
	}
	if !allUp(replicas) {
		return nil, nil
	}
	return &failover{e, replicas[rng.IntN(len(replicas))]}, nil
}

func makeFailover(e *Env, r FaultRequest) (Fault, error) {
	nodes, err := r.victims(e)
	if err != nil {
		return nil, err
	}
	return &failover{e, nodes[0]}, nil
}

// failover is not undone: the one that was promoted leads from then on.
type failover struct {
	env  *Env
	node compose.Node
}

func (f *failover) Nodes() []string { return []string{f.node.Name} }
func (f *failover) Detail() string  { return f.node.Name + " promoted" }

func (f *failover) Inject(ctx context.Context) error {
	c, ok := f.env.Cluster.(compose.Promoting)
	if !ok {
		return errNoReplicas
	}
	return c.Promote(ctx, f.node.Name)
}

func (f *failover) Verify(ctx context.Context) error {
	c, ok := f.env.Cluster.(compose.Promoting)
	if !ok {
		return errNoReplicas
	}
	leads, err := c.Leads(ctx, f.node.Name)
	if err == nil && !leads {
		err = fmt.Errorf("%s does not say that it leads", f.node.Name)
	}
	return err
}

func (*failover) Heal(context.Context) error { return nil }
