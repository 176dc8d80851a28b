package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/workloads"
)

// awaitState waits for what the clients' events tell.
func (r *Runner) awaitState(ctx context.Context, a *Await) error {
	for {
		r.mu.Lock()
		at, err := r.when(a)
		changed, now := r.changed, r.stage.Now()
		r.mu.Unlock()
		if err != nil || at != 0 && at <= now {
			return err
		}
		var instant <-chan time.Time
		if at != 0 {
			t := time.NewTimer(time.Duration(at - now))
			defer t.Stop()
			instant = t.C
		}
		select {
		case <-changed:
		case <-instant:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// when is the time at which the awaited comes or came: 0 if nothing says yet, past
// if it is there. r.mu is held.
func (r *Runner) when(a *Await) (int64, error) {
	there := func(yes bool) (int64, error) {
		if yes {
			return 1, nil
		}
		return 0, nil
	}
	c := r.clients[a.Client]
	switch a.What {
	case "quiet":
		return r.latest + int64(a.For), nil
	case "granted":
		if c.granted == 0 && c.last != nil && c.last.done && a.Or == 0 {
			return 0, fmt.Errorf("%s was not granted: %s %s", a.Client, c.last.outcome.Outcome, c.last.outcome.Error)
		}
		// The grant is the client's when its acquire has ended, not before.
		return there(c.granted != 0 && c.last != nil && c.last.act != "")
	case "waiting":
		return there(c.waiting || c.granted != 0)
	case "done":
		return there(c.last != nil && c.last.done)
	case "lost":
		return there(c.lost)
	case "failed":
		return there(c.last != nil && c.last.done && slices.Contains([]workloads.Outcome{workloads.Failed, workloads.Open, workloads.NotHeld}, c.last.outcome.Outcome))
	case "refused":
		return there(c.last != nil && c.last.done && c.last.outcome.Outcome == workloads.Refused)
	case "after":
		from := map[string]int64{"asked": c.asked, "granted": c.granted, "lease over": c.until}[a.Since]
		if from == 0 {
			return 0, nil
		}
		return from + int64(a.For), nil
	case "lease":
		if c.granted != 0 && c.until == 0 && a.Or == 0 {
			return 0, fmt.Errorf("%s's grant promises no lease: await what follows from its end", a.Client)
		}
		return c.until, nil
	}
	return 0, fmt.Errorf("nobody knows how to await %q", a.What)
}
