package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// keyEvent is that servers have the lock's key.
var keyEvent = event{
	what: "key", form: pattern(`^key on (.+)$`), example: "key on S", read: readServers,
	text:  func(a *Await) string { return "the key on " + strings.Join(a.Servers, ", ") },
	looks: true, seen: looked(func(_ *Await, count int) bool { return count > 0 }),
}

// goneEvent is that they have it no more.
var goneEvent = event{
	what: "gone", form: pattern(`^key gone on (.+)$`), example: "key gone on S", read: readServers,
	text:  func(a *Await) string { return "the end of the key on " + strings.Join(a.Servers, ", ") },
	looks: true, seen: looked(func(_ *Await, count int) bool { return count == 0 }),
}

// queuedEvent is that so many wait in line, the holder counted, as some server has it.
var queuedEvent = event{
	what: "queued", form: pattern(`^(\d+) queued$`), example: "2 queued", read: readQueue,
	text:  func(a *Await) string { return fmt.Sprintf("%d in line", a.N) },
	looks: true, seen: looked(func(a *Await, count int) bool { return count >= a.N }),
}

// fewerEvent is that no more than so many do.
var fewerEvent = event{
	what: "fewer", form: pattern(`^at most (\d+) queued$`), example: "at most 1 queued", read: readQueue,
	text:  func(a *Await) string { return fmt.Sprintf("at most %d in line", a.N) },
	looks: true, seen: looked(func(a *Await, count int) bool { return count <= a.N }),
}

// requestEvent is that servers, which are stopped, were asked something.
var requestEvent = event{
	what: "request", form: pattern(`^(?:request|(\d+) requests) at (.+)$`), example: "request at S, 2 requests at S",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
		a.N = 1
		if groups[0] != "" {
			if a.N, err = strconv.Atoi(groups[0]); err != nil || a.N < 1 {
				return p.errorf(n, "await: %q is no number of requests", groups[0])
			}
		}
		return readServers(p, n, a, groups[1:])
	},
	text: func(a *Await) string {
		if a.N == 1 {
			return "a request at " + strings.Join(a.Servers, ", ")
		}
		return fmt.Sprintf("%d requests at %s", a.N, strings.Join(a.Servers, ", "))
	},
	seen: func(ctx context.Context, r *Runner, a *Await, server string) (bool, error) {
		count, err := r.stage.Unread(ctx, server)
		return count >= a.N, err
	},
}

func readServers(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
	a.Servers, err = p.targets(n, "await", groups[0], " and ")
	return err
}

func readQueue(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
	if a.N, err = strconv.Atoi(groups[0]); err != nil {
		return p.errorf(n, "await: %q is no number of clients", groups[0])
	}
	return nil
}

// looked is an event that a server's count of the holder and the waiting tells.
func looked(enough func(a *Await, count int) bool) func(context.Context, *Runner, *Await, string) (bool, error) {
	return func(ctx context.Context, r *Runner, a *Await, server string) (bool, error) {
		count, err := r.stage.Look(ctx, server)
		return enough(a, count), err
	}
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
			yes, err := a.event().seen(ctx, r, a, s)
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
			if last != nil && !a.Or.some() {
				return fmt.Errorf("%w: %w", ctx.Err(), last)
			}
			return ctx.Err()
		}
	}
}

// syncedEvent is that servers have synced what they have written, so that a later power loss takes
// nothing of that; where nobody can know it, what they have written is noted to be kept.
var syncedEvent = event{
	what: "synced", form: pattern(`^(.+) synced$`), example: "S synced", read: readServers,
	text: func(a *Await) string { return "the sync of " + strings.Join(a.Servers, ", ") },
	wait: func(ctx context.Context, r *Runner, a *Await) error {
		for _, server := range r.resolve(a.Servers) {
			if err := r.stage.Mark(ctx, server); err != nil {
				return fmt.Errorf("await that %s is synced: %w", server, err)
			}
		}
		return nil
	},
}
