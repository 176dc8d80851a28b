package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// What can be awaited of a client, after its name: "A granted".
var (
	grantedEvent = event{what: "granted", text: clientText, at: grantedAt, ends: func(last string) bool { return last == history.Acquire }}
	waitingEvent = event{what: "waiting", text: clientText, at: client(func(c *clientState) bool { return c.waiting || c.granted != 0 })}
	lostEvent    = event{what: "lost", text: clientText, at: client(func(c *clientState) bool { return c.lost })}

	doneEvent    = event{what: "done", text: clientText, at: ended(), ends: always}
	failedEvent  = event{what: "failed", text: clientText, at: ended(workloads.Failed, workloads.Open, workloads.NotHeld), ends: always}
	refusedEvent = event{what: "refused", text: clientText, at: ended(workloads.Refused), ends: always}
)

func always(string) bool { return true }

func clientText(a *Await) string { return a.Client + " " + a.What }

func unknownEvent(_ *Runner, a *Await) (int64, error) {
	return 0, fmt.Errorf("nobody knows how to await %q", a.What)
}

// there is the time of what is there, or is not.
func there(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// client is an event that follows from a client's state.
func client(is func(c *clientState) bool) func(*Runner, *Await) (int64, error) {
	return func(r *Runner, a *Await) (int64, error) { return there(is(r.clients[a.Client])), nil }
}

// ended is the end of a client's latest acts, with one of the outcomes; with any where
// none is given.
func ended(outcomes ...workloads.Outcome) func(*Runner, *Await) (int64, error) {
	return client(func(c *clientState) bool {
		return c.last != nil && c.last.done && (len(outcomes) == 0 || slices.Contains(outcomes, c.last.outcome.Outcome))
	})
}

func grantedAt(r *Runner, a *Await) (int64, error) {
	c := r.clients[a.Client]
	if c.granted == 0 && c.last != nil && c.last.done && a.Or == 0 {
		return 0, fmt.Errorf("%s was not granted: %s %s", a.Client, c.last.outcome.Outcome, c.last.outcome.Error)
	}
	// The grant is the client's when its acquire has ended, not before.
	return there(c.granted != 0 && c.last != nil && c.last.act != ""), nil
}

// awaitState waits for what the clients' events tell.
func (r *Runner) awaitState(ctx context.Context, a *Await) error {
	for {
		r.mu.Lock()
		at, err := a.event().at(r, a)
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
