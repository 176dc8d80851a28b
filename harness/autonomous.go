package harness

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// autonomous drives clients that run their critical sections by themselves while the nemesis
// injects faults at random moments.
type autonomous struct {
	*run
	recovery recovery
	healed   chan error
	harmless context.CancelFunc // ends the nemesis's harm
}

func newAutonomous(r *run) driver {
	return &autonomous{run: r, recovery: recovery{granted: make(chan struct{}, 1)}}
}

func (a *autonomous) observe(e history.Event) { a.recovery.observe(e) }

func (a *autonomous) onMessage(string, workloads.Message) {}

// drive lets the clients and the nemesis loose until the time is up, and then until the
// lock was granted once more since the last fault was healed: whether it comes back is
// part of the question, and not to be answered by a time too short.
func (a *autonomous) drive(ctx, enough context.Context) error {
	a.Observer.Phase("run", time.Now().Add(a.Limit))
	for _, name := range a.names {
		if err := a.workers.start(name); err != nil {
			return err
		}
	}
	striking, stop := context.WithCancel(ctx)
	harm, up := context.WithTimeout(striking, a.Limit-a.healing)
	late, tooLate := context.WithTimeout(striking, a.Limit-a.healing+a.patience)
	a.harmless, a.healed = stop, make(chan error, 1)
	go func() {
		defer close(a.healed)
		defer up()
		defer tooLate()
		a.healed <- a.nemesis.Run(ctx, harm, late)
	}()
	return a.watch(enough)
}

// watch returns when the experiment has lasted long enough, or with what broke it.
func (a *autonomous) watch(ctx context.Context) error {
	limit, healed, since := time.After(a.Limit), a.healed, int64(0)
	var patience <-chan time.Time
	for {
		if limit == nil && healed == nil && patience == nil {
			if len(a.faults) == 0 || a.lock.Unlocked != nil {
				return nil
			}
			patience = time.After(a.patience)
			if a.recovery.last.Load() <= since {
				a.Observer.Phase("wait for the lock to come back", time.Now().Add(a.patience))
			}
		}
		if patience != nil && a.recovery.last.Load() > since {
			return nil
		}
		select {
		case <-limit:
			limit = nil
			if owed := a.nemesis.Outstanding(); len(owed) > 0 {
				a.Observer.Phase("inject what has not been injected yet: "+strings.Join(owed, ", "), time.Now().Add(a.patience-a.healing))
			}
		case err := <-healed:
			if err != nil {
				return err
			}
			healed, since = nil, a.Runtime.Now()-a.start
		case <-a.recovery.granted:
		case <-patience:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// heal waits until the nemesis has healed everything, or until the run is abandoned:
// then all nodes are ended as they are.
func (a *autonomous) heal(ctx context.Context) error {
	if a.harmless == nil {
		return nil // it never began
	}
	a.harmless()
	select {
	case err := <-a.healed: // nil where it was read before
		return err
	case <-ctx.Done():
		return fmt.Errorf("abandoned: %w", ctx.Err())
	}
}

// recovery tells of grants.
type recovery struct {
	last    atomic.Int64 // when the last one was given, in ns from the run's start; 0 for none
	granted chan struct{}
}

func (c *recovery) observe(e history.Event) {
	if e.F != history.Acquire || e.Type != history.OK {
		return
	}
	for { // what a paused client was granted arrives late
		last := c.last.Load()
		if e.Time <= last || c.last.CompareAndSwap(last, e.Time) {
			break
		}
	}
	select {
	case c.granted <- struct{}{}:
	default:
	}
}
