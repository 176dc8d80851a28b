package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// separateTries is how often it is tried whether keys are locks of their own, on a machine that may be
// too busy to show it.
const separateTries = 3

// separate says whether the lock's keys are locks of their own: every client of the set holds one at
// the same time. Where they are not, or that cannot be seen, runs beside each other would wait for each
// other's clients.
func (r *clientSet) separate(ctx context.Context) (bool, error) {
	if r.lock.Permits(r.Extra) >= len(r.names) {
		return false, nil // all of them may hold one lock
	}
	for range separateTries {
		if is, err := r.holdAll(ctx); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// holdAll has every client acquire a key of its own, and release it. True says that all of them held
// theirs at one moment.
func (r *clientSet) holdAll(ctx context.Context) (bool, error) {
	sc := newScript(r.run, &scenarios.Scenario{Clients: r.names}, nil)
	r.use(sc)
	defer r.use(nil)
	if err := sc.goTo(ctx, r.names, 0, func(string) string { return r.bed.newKey() }); err != nil {
		return false, err
	}
	within := max(r.TTL/2, 100*time.Millisecond)
	began := time.Now()
	n, err := r.all(ctx, sc, fmt.Sprintf("%s within %v", history.Acquire, within), workloads.Granted)
	held := n == len(r.names) && time.Since(began) < r.TTL*4/5 // the first lease is on when the last begins
	if err != nil {
		return false, err
	}
	_, err = r.all(ctx, sc, history.Release, workloads.Did)
	return held, err
}

// all has all clients do the same at once, and counts those of which that came.
func (r *clientSet) all(ctx context.Context, sc *script, act string, want workloads.Outcome) (n int, err error) {
	limit := time.NewTimer(openWithin)
	defer limit.Stop()
	var over []<-chan workloads.Done
	for _, name := range r.names {
		done, err := sc.Act(name, act)
		if err != nil {
			return 0, err
		}
		over = append(over, done)
	}
	for i, done := range over {
		select {
		case d := <-done:
			if d.Outcome == want {
				n++
			}
		case <-limit.C:
			return n, fmt.Errorf("%s did not end its %s within %v", r.names[i], act, openWithin)
		case err := <-r.workers.failed:
			return n, err
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
	return n, nil
}
