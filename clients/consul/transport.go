package consul

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// observedTransport observes what one api.Lock sends and receives, without changing it. The
// module reports neither whether a release found the lock held nor whether an acquire that
// failed may have taken effect. It can also end all requests, which the module cannot.
type observedTransport struct {
	next    http.RoundTripper
	options clients.Options
	ctx     context.Context
	end     context.CancelFunc

	once      sync.Once
	destroyed chan struct{} // closes when the session's end was answered

	mu       sync.Mutex
	acquire  bool  // the latest acquire has no answer that settles it
	released *bool // the latest release's answer
}

func observe(ctx context.Context, next http.RoundTripper, o clients.Options) *observedTransport {
	w := &observedTransport{next: next, options: o, destroyed: make(chan struct{})}
	w.ctx, w.end = context.WithCancel(ctx)
	return w
}

// unanswered says whether an acquire may have taken effect unnoticed.
func (w *observedTransport) unanswered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acquire
}

// releasedHeld says whether the release was answered, and that the lock was held.
func (w *observedTransport) releasedHeld() (held, answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.released != nil && *w.released, w.released != nil
}

// forgetReleased forgets what a semaphore's swaps were answered so far.
func (w *observedTransport) forgetReleased() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released = nil
}

// RoundTrip implements http.RoundTripper.
func (w *observedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(w.ctx, func() { cancel(errors.New("given up")) })
	query := req.URL.Query()
	acquire, release, blocking := query.Has("acquire"), query.Has("release"), query.Has("index")
	swap := query.Has("cas") // of a semaphore's list, to take a permit or to give it back
	if acquire || swap {
		w.mu.Lock()
		w.acquire = true
		w.mu.Unlock()
	}
	if blocking {
		w.options.TellWaiting()
	}
	resp, err := w.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	resp.Body = &consulBody{ReadCloser: resp.Body, done: func() { stop(); cancel(nil) }}
	if blocking {
		w.options.TellWoken()
	}
	if strings.HasPrefix(req.URL.Path, "/v1/session/destroy/") {
		w.once.Do(func() { close(w.destroyed) })
	}
	// The leader may have carried out what the agent answers with an error.
	if (acquire || release || swap) && resp.StatusCode == http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(text))
		yes := strings.TrimSpace(string(text)) == "true"
		w.mu.Lock()
		defer w.mu.Unlock()
		if acquire || swap {
			w.acquire = false
		}
		if !acquire {
			w.released = &yes
		}
	}
	return resp, nil
}

// consulBody releases a request's context when its answer has been read.
type consulBody struct {
	io.ReadCloser
	done func()
}

func (b *consulBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// consulSequencer asks Consul which acquisition of the key is in force, by a
// consistent read: LockIndex counts them.
type consulSequencer struct{ lock *consulLock }

func openConsulSequencer(_ context.Context, o clients.Options) (clients.Sequencer, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("consul: no servers given")
	}
	return consulSequencer{newConsulLock(o)}, nil
}

func (q consulSequencer) Valid(ctx context.Context, key string, token int64) (bool, error) {
	c, w, err := q.lock.client()
	if err != nil {
		return false, fmt.Errorf("consul: who holds %s: %w", key, err)
	}
	defer w.end()
	pair, _, err := c.KV().Get(keyFolder+key, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
	if err != nil {
		q.lock.elsewhere()
		return false, fmt.Errorf("consul: who holds %s: %w", key, err)
	}
	return pair != nil && pair.Session != "" && int64(pair.LockIndex) == token, nil
}

func (q consulSequencer) Close() error { return q.lock.Close() }

// lookConsul counts the holder of a key; waiting clients leave nothing there.
func lookConsul(ctx context.Context, o clients.Options, key string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, adapter.InspectWithin)
	defer cancel()
	server := o.Servers[0]
	t := newTransport(o)
	defer t.CloseIdleConnections()
	c, err := newClient(o, server, &http.Client{Transport: t, Timeout: adapter.InspectWithin})
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	pair, _, err := c.KV().Get(keyFolder+key, (&api.QueryOptions{AllowStale: true}).WithContext(ctx))
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	if pair == nil || pair.Session == "" {
		return 0, nil
	}
	return 1, nil
}
