package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
)

// simulated is a worker that waits instead of running items. It sends the requests of a worker.
type simulated struct {
	q       *stream.Queue
	c       *stream.Campaign
	found   *stream.Counterexamples // of the job
	of      int
	name    string
	job     int
	payload *fleet.Payload
	waits   chan<- time.Duration
}

// one runs one item; 0 if there was none.
func (w *simulated) one(ctx context.Context) (time.Duration, error) {
	var err error
	if w.c == nil {
		if w.c, err = w.q.Open(ctx, "scale"); err != nil {
			return 0, err
		}
	}
	asked := time.Now()
	t, err := w.c.Take(ctx, w.job, time.Second)
	if err != nil {
		return 0, err
	}
	if t == nil {
		w.job = (w.job + 1) % *jobs // a worker looks for another job, too
		return 0, nil
	}
	stop := t.Keep()
	defer stop()
	if _, err := t.Finished(ctx); err != nil {
		return 0, err
	}
	if _, err := w.c.Stopped(ctx, w.job); err != nil {
		return 0, err
	}
	if w.found == nil || w.of != w.job { // as a worker does when it begins a job
		w.close()
		if w.found, err = w.c.FollowCounterexamples(ctx, w.job); err != nil {
			return 0, err
		}
		w.of = w.job
	}
	if _, err := w.found.Known(); err != nil {
		return 0, err
	}
	w.waits <- time.Since(asked)
	takes := *item/2 + time.Duration(rand.Int64N(int64(*item)))
	for left := takes; left > 0; left -= 5 * time.Second {
		select {
		case <-ctx.Done():
			return takes - left, nil
		case <-time.After(min(left, 5*time.Second)):
		}
		if err := w.q.Heartbeat(ctx, fleet.Worker{Name: w.name}); err != nil && ctx.Err() == nil {
			return 0, err
		}
	}
	if err := t.Done(ctx, fleet.Result{Worker: w.name, Started: asked}, w.payload); err != nil && ctx.Err() == nil {
		return 0, err
	}
	return takes, nil
}

func (w *simulated) close() {
	if w.found != nil {
		w.found.Close()
		w.found = nil
	}
}

func quantiles(waits <-chan time.Duration) (median, late time.Duration) {
	var all []time.Duration
	for w := range waits {
		all = append(all, w)
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond), all[len(all)*99/100].Round(time.Millisecond)
}
