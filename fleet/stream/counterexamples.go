package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/hunt"
)

// Counterexamples are those of a job, kept current by one watch. If a thousand workers asked before
// each item instead, the server would have no time for anything else.
type Counterexamples struct {
	cancel context.CancelFunc
	over   chan struct{} // closed when the watch has ended
	ready  chan struct{} // closed when all that the queue had is known

	mu    sync.Mutex
	known map[string]hunt.Signature
	err   error
}

// FollowCounterexamples watches the counterexamples of a job until it is closed or ctx ends.
func (c *Campaign) FollowCounterexamples(ctx context.Context, job int) (*Counterexamples, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := &Counterexamples{cancel: cancel, over: make(chan struct{}), ready: make(chan struct{}), known: map[string]hunt.Signature{}}
	go func() {
		defer close(f.over)
		if err := f.follow(ctx, c.kv, fmt.Sprintf("counterexample.%d.*", job)); err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.err = err
		}
	}()
	select {
	case <-f.ready:
		return f, nil
	case <-f.over:
		cancel()
		return nil, f.err
	}
}

// follow watches until ctx ends, and begins anew if the queue was gone.
func (f *Counterexamples) follow(ctx context.Context, kv jetstream.KeyValue, keys string) error {
	var once sync.Once
	return retry(ctx, func(context.Context) error { // a bounded context would end the watch
		w, err := kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
		if err != nil {
			return fmt.Errorf("watch the counterexamples: %w", err)
		}
		defer func() { _ = w.Stop() }() // the connection may be gone before
		for {
			select {
			case e, ok := <-w.Updates():
				switch {
				case !ok:
					return fmt.Errorf("watch the counterexamples: %w", jetstream.ErrNoHeartbeat)
				case e == nil:
					once.Do(func() { close(f.ready) })
				default:
					f.take(e.Value())
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

// take adds one from the queue. If another version wrote it, this one finds it again.
func (f *Counterexamples) take(b []byte) {
	var s hunt.Signature
	if json.Unmarshal(b, &s) == nil {
		f.Add(s)
	}
}

// Add adds one that this worker found, before the queue returns it.
func (f *Counterexamples) Add(s hunt.Signature) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[s.String()] = s
}

// Known lists those found so far. The error says that the watch has ended.
func (f *Counterexamples) Known() ([]hunt.Signature, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil && !errors.Is(f.err, context.Canceled) {
		return nil, f.err
	}
	out := make([]hunt.Signature, 0, len(f.known))
	for _, s := range f.known {
		out = append(out, s)
	}
	return out, nil
}

// Close ends the watch.
func (f *Counterexamples) Close() {
	f.cancel()
	<-f.over
}
