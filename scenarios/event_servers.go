package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// asksServers says that no client can tell.
func (a *Await) asksServers() bool {
	return a.Servers != nil || a.What == "queued" || a.What == "fewer"
}

// lookEvery is how often a server is asked for what it tells nobody by itself.
const lookEvery = 5 * time.Millisecond

// awaitServers waits for what only the servers know.
func (r *Runner) awaitServers(ctx context.Context, a *Await) error {
	servers := r.resolve(a.Servers)
	if len(a.Servers) == 0 {
		servers = r.stage.Servers()
	}
	left := slices.Clone(servers)
	var last error
	for {
		rest := left[:0]
		for _, s := range left {
			yes, err := r.seen(ctx, a, s)
			if err != nil {
				last = err
			}
			if err == nil && yes && len(a.Servers) == 0 {
				return nil // what one server knows is so
			}
			if err != nil || !yes {
				rest = append(rest, s)
			}
		}
		left = rest
		if len(left) == 0 {
			return nil
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			if last != nil && a.Or == 0 {
				return fmt.Errorf("%w: %w", ctx.Err(), last)
			}
			return ctx.Err()
		}
	}
}

func (r *Runner) seen(ctx context.Context, a *Await, server string) (bool, error) {
	if a.What == "request" {
		n, err := r.stage.Unread(ctx, server)
		return n >= a.N, err
	}
	n, err := r.stage.Look(ctx, server)
	switch a.What {
	case "gone":
		return n == 0, err
	case "queued":
		return n >= a.N, err
	case "fewer":
		return n <= a.N, err
	}
	return n > 0, err
}
