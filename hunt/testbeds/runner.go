package testbeds

import (
	"context"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// runner is one of several that share testbeds: what strikes only clients runs on one cluster, beside
// others; what strikes a server gets a cluster to itself.
type runner struct{ pool *Pool }

// Run implements hunt.Runner.
func (r runner) Run(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	p := r.pool
	if err := p.limit.enter(ctx); err != nil {
		return nil, err
	}
	busy := false
	defer func() { p.limit.leave(busy) }()
	out, err := p.run(ctx, s)
	busy = out != nil && out.Busy
	return out, err
}

func (p *Pool) run(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	if harness.OnlyClients(s, p.target.ClientNames()) {
		return p.shared.Run(ctx, s)
	}
	select {
	case l := <-p.own:
		defer func() { p.own <- l }()
		return l.Run(ctx, s)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
