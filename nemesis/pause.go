package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
)

var pauseKind = Kind{
	Name:     "pause",
	About:    "stop processes as a long garbage collection or a suspended machine does (SIGSTOP, SIGCONT)",
	Usage:    "[:holder|waiter|client|leader|server|one|minority|majority|all|NODE]",
	Plain:    []string{"one", "client"},
	All:      []string{"holder", "holder", "holder", "waiter", "waiter", "client", "leader", "majority"},
	Share:    4,
	Parse:    parsePause,
	Make:     makePause,
	Lasts:    pauseLasts,
	Possible: func(*Env) error { return nil },
	Single:   true,
}

func parsePause(words []string) (p Plan, err error) {
	p.target, err = oneTarget(words)
	return p, err
}

func pauseLasts(e *Env, p Plan, rng *rand.Rand) time.Duration {
	switch p.target {
	case holder:
		return untilHarm(e, rng)
	case client, waiter:
		return between(rng, e.TTL, 0.5, 3)
	}
	return between(rng, e.TTL, 0.5, 2)
}

func makePause(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	nodes, err := p.victims(ctx, e, c)
	if err != nil || nodes == nil {
		return nil, err
	}
	return &pause{env: e, nodes: nodes, harm: p.harm(e, nodes, c)}, nil
}

type pause struct {
	env   *Env
	nodes []compose.Node
	harm  <-chan struct{}
}

func (p *pause) Nodes() []string { return names(p.nodes) }
func (p *pause) Detail() string  { return "stopped" }
func (p *pause) Steps() []string { return []string{"pause: " + listed(p.Nodes())} }

// Await implements Awaiter: a paused holder has been paused for long enough when
// another client was granted its key and wrote.
func (p *pause) Await() <-chan struct{} { return p.harm }

func (p *pause) Inject(ctx context.Context) error {
	for _, n := range p.nodes {
		if _, err := p.env.Injector.Do(ctx, Op{Name: OpSignal, PID: n.PID, Signal: syscall.SIGSTOP}); err != nil {
			return fmt.Errorf("stop %s: %w", n.Name, err)
		}
	}
	return nil
}

func (p *pause) Verify(ctx context.Context) error { return p.await(ctx, true) }

// await polls the processes' states: the kernel notifies only the parent.
func (p *pause) await(ctx context.Context, want bool) error {
	for _, n := range p.nodes {
		for {
			if now, ok := p.env.node(n.Name); !want && (!ok || now.PID != n.PID) {
				break
			}
			is, err := p.env.Injector.Do(ctx, Op{Name: OpStopped, PID: n.PID})
			if errors.Is(err, os.ErrProcessDone) && !want {
				break
			}
			if err != nil {
				return err
			}
			if is.Yes == want {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("pause %s: stopped is still %v: %w", n.Name, is.Yes, ctx.Err())
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

// Heal continues each, even if another fails.
func (p *pause) Heal(ctx context.Context) (all error) {
	for _, n := range p.nodes {
		if now, ok := p.env.node(n.Name); !ok || now.PID != n.PID {
			continue // it was killed meanwhile; its id may be another's
		}
		if _, err := p.env.Injector.Do(ctx, Op{Name: OpSignal, PID: n.PID, Signal: syscall.SIGCONT}); err != nil && !errors.Is(err, syscall.ESRCH) {
			all = errors.Join(all, fmt.Errorf("let %s go on: %w", n.Name, err))
		}
	}
	return errors.Join(all, p.await(ctx, false))
}
