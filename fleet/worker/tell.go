package worker

import (
	"context"
	"time"

	"github.com/picklock/picklock/fleet"
)

// tell says how the worker is, again and again. A queue that is away hears it later.
func (w *worker) tell(ctx context.Context) {
	tick := time.NewTicker(tellWait)
	defer tick.Stop()
	for {
		w.mu.Lock()
		w.state.Seen = time.Now()
		s := w.state
		w.mu.Unlock()
		asked, cancel := context.WithTimeout(ctx, tellWait)
		_ = w.o.Queue.Tell(asked, s) // the next one may be heard
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
	w.state.Plays += r.Plays
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
