package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
)

var clockKind = Kind{
	Name:  "clock",
	About: "jump the wall clock of single processes, all others keep theirs",
	Usage: "[:client|leader|one|minority|majority|all|NODE][:+DURATION|:-DURATION]",
	Parse: parseClock,
	Make:  makeClockJump,
	Possible: func(e *Env) error {
		if err := e.Injector.Clock(context.Background()); err != nil {
			return fmt.Errorf("this machine cannot shift a process's clock: %w", err)
		}
		return nil
	},
}

type clockPlan struct {
	target target
	jump   time.Duration // 0: a random one of more than a lease
}

func parseClock(words []string) (Plan, error) {
	p := clockPlan{}
	words = slices.Clone(words)
	if n := len(words); n > 0 && strings.ContainsAny(words[n-1][:min(1, len(words[n-1]))], "+-") {
		var err error
		if p.jump, err = time.ParseDuration(words[n-1]); err != nil {
			return nil, err
		}
		if p.jump == 0 {
			return nil, fmt.Errorf("a jump of nothing")
		}
		words = words[:n-1]
	}
	var err error
	p.target, err = oneTarget(words)
	return p, err
}

func (p clockPlan) Trigger() Trigger {
	if p.target == holder {
		return WhileHeld
	}
	return Sometimes
}

func (p clockPlan) Duration(e *Env, rng *rand.Rand) time.Duration {
	return between(rng, e.TTL, 0.5, 2)
}

func (p clockPlan) Pick(ctx context.Context, e *Env, rng *rand.Rand, holding string) (Fault, error) {
	nodes, err := p.target.pick(ctx, e, rng, holding)
	if err != nil || !allUp(nodes) {
		return nil, err
	}
	jump := p.jump
	if jump == 0 {
		// Forward by more than a lease: a backward jump only makes leases longer.
		jump = between(rng, e.TTL, 2, 10).Round(time.Millisecond)
	}
	return &clockJump{e, nodes, jump}, nil
}

func makeClockJump(e *Env, r FaultRequest) (Fault, error) {
	nodes, err := r.victims(e)
	if err != nil {
		return nil, err
	}
	return &clockJump{e, nodes, r.By}, nil
}

type clockJump struct {
	env   *Env
	nodes []compose.Node
	jump  time.Duration
}

func (c *clockJump) Nodes() []string { return names(c.nodes) }
func (c *clockJump) Detail() string  { return fmt.Sprintf("wall clock %s", signed(c.jump)) }

func (c *clockJump) Inject(ctx context.Context) error {
	for _, n := range c.nodes {
		if err := c.env.Injector.Shift(ctx, n.PID, c.jump); err != nil {
			return fmt.Errorf("shift the clock of %s: %w", n.Name, err)
		}
	}
	return nil
}

func (c *clockJump) Verify(ctx context.Context) error { return c.readBack(ctx, c.jump) }

func (c *clockJump) readBack(ctx context.Context, want time.Duration) error {
	for _, n := range c.nodes {
		if now, ok := c.env.node(n.Name); want == 0 && (!ok || now.PID != n.PID) {
			continue
		}
		got, err := c.env.Injector.Offset(ctx, n.PID)
		if want == 0 && errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the clock of %s back: %w", n.Name, err)
		}
		if (got - want).Abs() > time.Millisecond {
			return fmt.Errorf("the clock of %s is %v off, not %v", n.Name, got, want)
		}
	}
	return nil
}

func (c *clockJump) Heal(ctx context.Context) error {
	for _, n := range c.nodes {
		if now, ok := c.env.node(n.Name); !ok || now.PID != n.PID {
			continue // a process that was started anew has the true clock
		}
		if err := c.env.Injector.Shift(ctx, n.PID, 0); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("set the clock of %s right: %w", n.Name, err)
		}
	}
	return c.readBack(ctx, 0)
}

func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}
