package hunt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

const (
	probes = 3 // runs with each runner
	// probeMost is how long they last at most: they are no part of the time that the user gave.
	probeMost = 20 * time.Second
)

// Probe runs the target's first workload, without a fault, some times with every runner,
// and says which part of the runs this machine was too busy for. A run in which no client got the lock says
// nothing of the machine, and is the last of its runner.
func (t Target) Probe(ctx context.Context, runners []Runner) (busy float64, err error) {
	return t.probe(ctx, runners, probeMost)
}

func (t Target) probe(ctx context.Context, runners []Runner, most time.Duration) (busy float64, err error) {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	s := t.schedule(workloads(t)[0])
	var (
		mu              sync.Mutex
		over, disturbed int
		group           sync.WaitGroup
	)
	// one says whether the runner is to go on.
	one := func(p Runner) bool {
		out, failed := p.Run(within, s)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case within.Err() != nil && ctx.Err() == nil: // the run did not come to its end
			return false
		case failed != nil:
			if err == nil || errors.Is(failed, ErrUnusable) {
				err = failed
			}
			return true
		}
		if over++; out.Busy {
			disturbed++
		}
		return !ungranted(out.Events)
	}
	for _, p := range runners {
		group.Go(func() {
			for n := 0; n < probes && one(p); n++ {
			}
		})
	}
	group.Wait()
	return float64(disturbed) / float64(max(1, over)), err
}

// ungranted says that clients asked for the lock, and none got it.
func ungranted(events []history.Event) bool {
	asked := false
	for _, e := range events {
		if e.F == history.Acquire {
			if asked = true; e.Type == history.OK {
				return false
			}
		}
	}
	return asked
}
