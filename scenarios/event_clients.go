package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/workloads"
)

// What can be awaited of a client, after its name: "A granted".
var (
	grantedEvent = event{what: "granted", text: clientText, ofActs: true, at: grantedAt}
	lostEvent    = event{what: "lost", text: clientText, at: client(func(c *clientState) bool { return c.lost })}

	doneEvent    = event{what: "done", text: clientText, ofActs: true, at: doneAt}
	failedEvent  = event{what: "failed", text: clientText, ofActs: true, at: ended(workloads.Failed, workloads.Open, workloads.NotHeld)}
	refusedEvent = event{what: "refused", text: clientText, ofActs: true, at: ended(workloads.Refused)}
)

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

// ended is the end of a client's latest act with one of the outcomes.
func ended(outcomes ...workloads.Outcome) func(*Runner, *Await) (int64, error) {
	return client(func(c *clientState) bool {
		return c.last != nil && c.last.done && slices.Contains(outcomes, c.last.outcome.Outcome)
	})
}

// doneAt is the end of a client's program.
func doneAt(r *Runner, a *Await) (int64, error) { return there(r.over[a.Client]), nil }

// grantedAt is a client's first grant: those after it are points of its program.
func grantedAt(r *Runner, a *Await) (int64, error) {
	c := r.clients[a.Client]
	if c.grants == 0 && r.over[a.Client] {
		return 0, &neverError{a.Client + " was not granted: its program is over"}
	}
	return there(c.grants > 0), nil
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
