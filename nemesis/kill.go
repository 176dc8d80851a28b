package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/picklock/picklock/compose"
)

var killKind = Kind{
	Name:     "kill",
	About:    "kill processes (SIGKILL) and start them again, with their data or without (wipe)",
	Usage:    "[:holder|waiter|client|leader|server|one|minority|majority|all|NODE][:wipe]",
	Plain:    []string{"one", "client"},
	All:      []string{"holder", "waiter", "leader", "one"},
	Parse:    parseKill,
	Make:     makeKill,
	Lasts:    killLasts,
	Restarts: true,
	Possible: func(*Env) error { return nil },
}

func parseKill(words []string) (p Plan, err error) {
	words, p.Wipe = without(words, "wipe")
	p.target, err = oneTarget(words)
	return p, err
}

func killLasts(e *Env, p Plan, rng *rand.Rand) time.Duration {
	// Half of the crashed come back at once, as a supervisor brings them: what the
	// crash forgot is then missed while a client still relies on it.
	if rng.IntN(2) == 0 {
		return 0
	}
	d := between(rng, e.TTL, 0, 0.5)
	// The others stay down until the cluster has replaced them.
	if p.target != holder && p.target != waiter && p.target != client {
		d += e.Cluster.Takeover()
	}
	return d
}

func makeKill(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	nodes, err := p.victims(ctx, e, c)
	if err != nil || nodes == nil {
		return nil, err
	}
	k := &kill{e, nodes, p.Wipe}
	return k, k.canRejoin()
}

type kill struct {
	env   *Env
	nodes []compose.Node
	wipe  bool
}

// canRejoin says why a server would never come back without its data.
func (k *kill) canRejoin() error {
	if !k.wipe {
		return nil
	}
	for _, n := range k.nodes {
		if why := k.env.Cluster.NeedsData(n.Name); why != "" {
			return fmt.Errorf("%s cannot come back without its data: %s", n.Name, why)
		}
	}
	return nil
}

func (k *kill) Nodes() []string { return names(k.nodes) }

func (k *kill) Detail() string {
	if k.wipe {
		return "killed, data wiped"
	}
	return "killed"
}

func (k *kill) Steps() []string {
	if k.wipe {
		return []string{"kill: " + listed(k.Nodes()) + " without data"}
	}
	return []string{"kill: " + listed(k.Nodes())}
}

func (k *kill) Inject(ctx context.Context) error {
	for _, n := range k.nodes {
		if err := k.env.Cluster.Kill(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}

func (k *kill) Verify(context.Context) error {
	for _, n := range k.nodes {
		// Another fault may have brought it back already, as another process.
		if now, _ := k.env.node(n.Name); now.PID != 0 && (now.PID == n.PID || n.PID == 0) {
			return fmt.Errorf("kill %s: process %d still runs", n.Name, now.PID)
		}
	}
	return nil
}

// Heal starts all of them at once: members of a quorum answer only together.
func (k *kill) Heal(ctx context.Context) error {
	errs := make(chan error, len(k.nodes))
	for _, n := range k.nodes {
		go func() {
			now, _ := k.env.node(n.Name)
			switch {
			case now.PID != 0 && k.wipe && now.PID != n.PID:
				errs <- k.again(ctx, n.Name, k.wipeAgain)
			case now.PID != 0:
				errs <- nil // it was never killed, or another fault has brought it back
			case n.Role == compose.Client:
				errs <- k.again(ctx, n.Name, k.env.Respawn)
			default:
				errs <- k.again(ctx, n.Name, k.restart)
			}
		}()
	}
	var all error
	failed := &restartFailedError{}
	for range k.nodes {
		err := <-errs
		if errors.Is(err, compose.ErrEnded) {
			failed.errs = append(failed.errs, err)
		} else {
			all = errors.Join(all, err)
		}
	}
	if len(failed.errs) == 0 || all != nil {
		return errors.Join(append(failed.errs, all)...)
	}
	return failed
}

// again starts a node, and ends what only the process had that it was before.
func (k *kill) again(ctx context.Context, name string, start func(context.Context, string) error) error {
	if err := start(ctx, name); err != nil || k.env.replaced == nil {
		return err
	}
	return k.env.replaced(ctx, name)
}

// restart starts a server again that is down.
func (k *kill) restart(ctx context.Context, name string) error {
	err := k.env.Cluster.Restart(ctx, name, k.wipe)
	switch {
	case errors.Is(err, compose.ErrKilled): // another fault has it now
		return nil
	case errors.Is(err, compose.ErrRuns) && k.wipe:
		return k.wipeAgain(ctx, name)
	case errors.Is(err, compose.ErrRuns): // another fault has brought it back
		return nil
	}
	return err
}

// wipeAgain kills a server that another fault has brought back with its data, so that it comes back without.
func (k *kill) wipeAgain(ctx context.Context, name string) error {
	if err := k.env.Cluster.Kill(ctx, name); err != nil {
		return err
	}
	return k.restart(ctx, name)
}

// restartFailedError says that servers do not start any more after a fault. That is how these
// servers behave, and no failure of picklock.
type restartFailedError struct{ errs []error }

func (e *restartFailedError) Error() string   { return errors.Join(e.errs...).Error() }
func (e *restartFailedError) Unwrap() []error { return e.errs }
