package consul

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func consulInfo() clients.Info {
	return clients.Info{
		Name:     "consul",
		About:    "Consul: the api module's Lock on a session of its own, with lock-delay (option delay); the key's LockIndex is the token",
		Cluster:  "consul",
		Fencing:  true,
		Module:   "github.com/hashicorp/consul/api",
		Notifies: true, // https://pkg.go.dev/github.com/hashicorp/consul/api#Lock.Lock
		Confirms: true, // the release's answer says whether the session still held the key
		MinTTL:   time.Second,
		Inspect:  lookConsul,
		Options: []clients.Option{{Name: "delay", About: "lock-delay: how long a lock stays blocked after its session was invalidated, 1ms to 60s; Consul's own default is 15s",
			Default: "2 leases", Check: adapter.Checks(parseConsulDelay), Safer: []string{"4 leases"}}},
		LockDelay: func(o clients.Options) time.Duration { return consulDelay(o) + api.DefaultLockRetryTime },
		Open:      openConsul,
		Sequencer: openConsulSequencer,
	}
}

// consulLock makes one api.Lock for each acquire, as the module means it to be used:
// the Lock creates a session, renews it, and watches the key. A session promises no
// time, because Consul ends it as well when the agent that it was made through is
// thought to have failed (its serfHealth check), so no lease is claimed.
type consulLock struct {
	options clients.Options
	delay   time.Duration
	http    *http.Transport
	group   sync.WaitGroup // calls and sessions whose result is no longer awaited

	stopped context.Context // ends what the module does for grants that were never released
	stop    context.CancelFunc

	mu sync.Mutex
	at int // the server in use
}

func openConsul(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("consul: no servers given")
	}
	return newConsulLock(o), nil
}

func newConsulLock(o clients.Options) *consulLock {
	l := &consulLock{options: o, delay: consulDelay(o), http: newTransport(o)}
	l.stopped, l.stop = context.WithCancel(context.Background())
	for _, c := range o.Client { // c1, c2, ... use one server each, as they would the agent of their machine
		l.at += int(c)
	}
	return l
}

func parseConsulDelay(text string) (time.Duration, error) {
	d, err := adapter.ParseLength(text)
	if err == nil && (d < time.Millisecond || d > time.Minute) {
		// The module takes 0 for 15 s.
		err = errors.New("want 1ms to 60s")
	}
	return d, err
}

func consulDelay(o clients.Options) time.Duration {
	d, err := adapter.Read(o, "delay", 2*o.TTL, parseConsulDelay)
	if err != nil {
		return 2 * o.TTL // refused before anything is opened
	}
	return d
}

// consulGrant is a grant's Ref.
type consulGrant struct {
	lock      *api.Lock
	transport *observedTransport
}

// client makes a client of the server in use whose calls can all be ended.
func (l *consulLock) client() (*api.Client, *observedTransport, error) {
	l.mu.Lock()
	server := l.options.Servers[l.at%len(l.options.Servers)]
	l.mu.Unlock()
	w := observe(l.stopped, l.http, l.options)
	c, err := newClient(l.options, server, &http.Client{Transport: w})
	return c, w, err
}

// elsewhere goes to the next server.
func (l *consulLock) elsewhere() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at++
}

func (l *consulLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.retry(ctx, key, l.once)
}

// retry calls once, each time at another server, until it grants or ctx ends.
func (l *consulLock) retry(ctx context.Context, key string, once func(context.Context, string) (clients.Grant, error)) (clients.Grant, error) {
	var last error
	for {
		g, err := once(ctx, key)
		if err == nil {
			return g, nil
		}
		if errors.Is(err, clients.ErrUnknown) {
			return clients.Grant{}, fmt.Errorf("consul: acquire %s: %w", key, err)
		}
		if ctx.Err() == nil {
			last = err
			l.elsewhere()
		}
		if !adapter.Pause(ctx, l.options.TTL/10) {
			return clients.Grant{}, adapter.Timeout(ctx, "consul", key, last)
		}
	}
}

// wait lets the module wait for the lock until ctx ends, and gives the session up if it
// was not granted.
func (l *consulLock) wait(ctx context.Context, w *observedTransport, acquire func(<-chan struct{}) (<-chan struct{}, error)) (<-chan struct{}, error) {
	type result struct {
		lost <-chan struct{}
		err  error
	}
	done := make(chan result, 1)
	l.group.Go(func() {
		lost, err := acquire(ctx.Done())
		done <- result{lost, err}
	})
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		grace := time.AfterFunc(2*time.Second, w.end)
		r = <-done
		grace.Stop()
	}
	if r.lost != nil {
		return r.lost, nil
	}
	open := w.unanswered()
	l.leave(w) // the module ends the session, in its own time
	switch {
	case open:
		return nil, fmt.Errorf("%w: %w", clients.ErrUnknown, r.err)
	case r.err == nil:
		return nil, ctx.Err()
	}
	return nil, r.err
}

// once lets one api.Lock wait until ctx ends.
func (l *consulLock) once(ctx context.Context, key string) (clients.Grant, error) {
	c, w, err := l.client()
	if err != nil {
		return clients.Grant{}, err
	}
	value := rand.Text()
	lock, err := c.LockOpts(&api.LockOptions{
		Key: keyFolder + key, Value: []byte(value), SessionName: sessionName(l.options, key),
		SessionTTL: l.options.TTL.String(), LockDelay: l.delay,
		LockWaitTime: min(max(l.options.TTL/2, 250*time.Millisecond), time.Second), // it ignores ctx for so long
	})
	if err != nil {
		w.end()
		return clients.Grant{}, err
	}
	lost, err := l.wait(ctx, w, lock.Lock)
	if err != nil {
		return clients.Grant{}, err
	}
	pair, err := l.own(c, w, key, value)
	if err != nil {
		l.group.Go(func() { _ = lock.Unlock() }) // without a token it is of no use
		l.leave(w)
		return clients.Grant{}, fmt.Errorf("%w: granted, and then: %w", clients.ErrUnknown, err)
	}
	return clients.Grant{Key: key, Token: int64(pair.LockIndex), Lost: lost, Ref: consulGrant{lock, w}}, nil
}

// own reads the key: the module reports only that the client holds it.
func (l *consulLock) own(c *api.Client, w *observedTransport, key, value string) (*api.KVPair, error) {
	ctx, cancel := context.WithTimeout(w.ctx, max(l.options.TTL, time.Second))
	defer cancel()
	q := (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
	pair, _, err := c.KV().Get(keyFolder+key, q)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the token: %w", err)
	case pair == nil || pair.Session == "" || string(pair.Value) != value:
		return nil, errors.New("read the token: the session is gone")
	}
	return pair, nil
}

// Release unlocks. The module does not look at the answer; the transport does.
func (l *consulLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(consulGrant)
	defer l.leave(ref.transport)
	err := l.call(ctx, ref.lock.Unlock)
	switch held, answered := ref.transport.releasedHeld(); {
	case errors.Is(err, api.ErrLockNotHeld): // the module has given it back before, and asks nothing
		return fmt.Errorf("consul: release %s: %w: %w", g.Key, clients.ErrNotHeld, err)
	case err != nil:
		return fmt.Errorf("consul: release %s: %w: %w", g.Key, clients.ErrUnknown, err)
	case !answered:
		return fmt.Errorf("consul: release %s: %w: no answer", g.Key, clients.ErrUnknown)
	case !held:
		return fmt.Errorf("consul: release %s: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}

// call waits for one of the module's calls until ctx ends.
func (l *consulLock) call(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	l.group.Go(func() { done <- do() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the module a moment to close its session, and then ends whatever it is still
// doing.
func (l *consulLock) leave(w *observedTransport) {
	l.group.Go(func() {
		t := time.NewTimer(min(max(l.options.TTL, 250*time.Millisecond), 2*time.Second))
		defer t.Stop()
		select {
		case <-w.destroyed:
		case <-t.C:
		}
		w.end()
	})
}

// Close waits for the calls that are under way, a few seconds at most. A grant that
// was not released ends with its session.
func (l *consulLock) Close() error {
	l.group.Wait()
	l.stop()
	l.http.CloseIdleConnections()
	return nil
}
