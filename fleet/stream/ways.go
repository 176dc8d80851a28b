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

// Ways is what a job's hunt has found, followed as it is found: with a thousand workers, each of
// which asked anew before each item, the server had no time for anything else.
type Ways struct {
	cancel context.CancelFunc
	over   chan struct{} // closed when nothing is followed any more
	ready  chan struct{} // closed when all that was there is known

	mu    sync.Mutex
	known map[string]hunt.Signature
	err   error
}

// FollowWays knows what was found so far, and what is found from now on, until it is closed or
// ctx ends.
func (c *Campaign) FollowWays(ctx context.Context, job int) (*Ways, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := &Ways{cancel: cancel, over: make(chan struct{}), ready: make(chan struct{}), known: map[string]hunt.Signature{}}
	go func() {
		defer close(f.over)
		if err := f.follow(ctx, c.kv, fmt.Sprintf("way.%d.*", job)); err != nil {
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

// follow watches until ctx ends, again where the queue was away.
func (f *Ways) follow(ctx context.Context, kv jetstream.KeyValue, keys string) error {
	var once sync.Once
	return patiently(ctx, func(context.Context) error { // a bounded context would end the watch
		w, err := kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
		if err != nil {
			return fmt.Errorf("follow what is found: %w", err)
		}
		defer func() { _ = w.Stop() }() // the connection may be gone before
		for {
			select {
			case e, ok := <-w.Updates():
				switch {
				case !ok:
					return fmt.Errorf("follow what is found: %w", jetstream.ErrNoHeartbeat)
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

// take learns one way. One that cannot be read is of another version: it is found again.
func (f *Ways) take(b []byte) {
	var s hunt.Signature
	if json.Unmarshal(b, &s) == nil {
		f.Add(s)
	}
}

// Add learns a way that this worker has found: it need not come back from the queue first.
func (f *Ways) Add(s hunt.Signature) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[s.String()] = s
}

// Known is what was found so far. The error says that nothing is followed any more.
func (f *Ways) Known() ([]hunt.Signature, error) {
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

// Close ends it.
func (f *Ways) Close() {
	f.cancel()
	<-f.over
}
