package worker

import (
	"context"
	"time"

	"github.com/picklock/picklock/fleet"
)

// heartbeats publishes the worker's state until ctx ends.
func (w *worker) heartbeats(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		w.mu.Lock()
		w.state.Seen = time.Now()
		s := w.state
		w.mu.Unlock()
		asked, cancel := context.WithTimeout(ctx, heartbeatEvery)
		_ = w.o.Queue.Heartbeat(asked, s) // the next one may arrive
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *worker) doing(item, job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Item, w.state.Job = item, job
}

func (w *worker) did(r fleet.Result, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Item, w.state.Job, w.state.Trouble = "", "", ""
	w.state.Runs += r.Runs
	w.state.Busy += r.Seconds
	if err != nil {
		w.state.Trouble = err.Error()
		return
	}
	w.state.Done++
}

func (w *worker) trouble(text string) {
	w.o.Say(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Trouble = text
}
