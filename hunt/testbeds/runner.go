package testbeds

import (
	"context"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// runner is one of several that share testbeds: what strikes only clients runs on one cluster, beside
// others; what strikes a server gets a cluster to itself.
type runner struct {
	pool   *Pool
	waited bool // its next run may begin
}

// Wait implements hunt.Waiter.
func (r *runner) Wait(ctx context.Context) bool {
	r.waited = r.waited || r.pool.limit.enter(ctx) == nil
	return r.waited
}

// Yield implements hunt.Waiter.
func (r *runner) Yield() {
	if r.waited {
		r.waited = false
		r.pool.limit.leave()
	}
}

// Ready implements hunt.Chooser: what strikes a server begins if a cluster has nothing to do.
func (r *runner) Ready(s *scenarios.Scenario) bool {
	ready := harness.OnlyClients(s, r.pool.target.AllClientNames()) || r.pool.shared.otherOptions(s) != nil || len(r.pool.own) > 0
	if !ready {
		r.pool.short.Store(true)
	}
	return ready
}

// Run implements hunt.Runner. While it waits for a cluster to itself, another run may begin.
func (r *runner) Run(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	return r.run(ctx, s, r.Wait)
}

// RunAlone implements hunt.Soloist.
func (r *runner) RunAlone(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	r.Yield()
	return r.run(ctx, s, func(ctx context.Context) bool {
		r.waited = r.pool.limit.enterAlone(ctx) == nil
		return r.waited
	})
}

// run is Run with what waits for its turn.
func (r *runner) run(ctx context.Context, s *scenarios.Scenario, wait func(context.Context) bool) (*hunt.Outcome, error) {
	p := r.pool
	on := p.shared
	if !harness.OnlyClients(s, p.target.AllClientNames()) && p.shared.otherOptions(s) == nil {
		select {
		case on = <-p.own:
		default:
			p.short.Store(true)
			r.Yield()
			select {
			case on = <-p.own:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		defer func() { p.own <- on }()
	}
	if !wait(ctx) {
		return nil, ctx.Err()
	}
	defer r.Yield()
	out, err := on.Run(ctx, s)
	p.limit.count(out != nil && out.Busy)
	return out, err
}
