package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/picklock/picklock/compose"
)

var refuseKind = Kind{
	Name:     "refuse",
	About:    "have servers refuse writes with an error, as one does whose disk is full or that may only be read",
	Usage:    "[:leader|server|one|minority|majority|all|NODE]",
	All:      []string{"leader", "majority"},
	Parse:    parseRefuse,
	Make:     makeRefuse,
	Lasts:    refuseLasts,
	Possible: func(*Env) error { return nil },
	Servers:  true,
}

// NoRefusal says why a cluster's servers cannot be made to refuse writes.
const NoRefusal = "nothing says how a server of this cluster is made to refuse writes: its Compose file has no x-picklock.refuse"

func parseRefuse(words []string) (p Plan, err error) {
	p.target, err = serverTarget(words)
	return p, err
}

func refuseLasts(e *Env, _ Plan, rng *rand.Rand) time.Duration { return between(rng, e.TTL, 0.5, 2) }

func makeRefuse(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	nodes, err := p.victims(ctx, e, c)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	for _, n := range nodes {
		if !e.Cluster.CanRefuse(n.Name) {
			return nil, errors.New(NoRefusal)
		}
	}
	return &refuse{env: e, nodes: nodes}, nil
}

// refuse is that servers answer every write with an error. Their other answers are as always.
type refuse struct {
	env   *Env
	nodes []compose.Node
	told  []compose.Node // those that were told to refuse, and not yet to take writes
}

func (r *refuse) Nodes() []string { return names(r.nodes) }
func (r *refuse) Detail() string  { return "refuses writes" }
func (r *refuse) Steps() []string { return []string{"refuse: " + listed(r.Nodes())} }

func (r *refuse) Inject(ctx context.Context) error {
	for _, n := range r.nodes {
		r.told = append(r.told, n)
		if err := r.env.Cluster.Refuse(ctx, n.Name, true); err != nil {
			return err
		}
	}
	return nil
}

func (r *refuse) Verify(ctx context.Context) error {
	for _, n := range r.nodes {
		yes, err := r.env.Cluster.Refuses(ctx, n.Name)
		if err != nil {
			return fmt.Errorf("ask %s whether it refuses writes: %w", n.Name, err)
		}
		if !yes {
			return fmt.Errorf("%s does not say that it refuses writes", n.Name)
		}
	}
	return nil
}

// Heal tells all of them, also after an error; those that could not be told are told the next time.
func (r *refuse) Heal(ctx context.Context) (all error) {
	r.told = slices.DeleteFunc(r.told, func(n compose.Node) bool {
		err := r.env.Cluster.Refuse(ctx, n.Name, false)
		all = errors.Join(all, err)
		return err == nil
	})
	return all
}
