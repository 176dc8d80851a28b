//go:build library

// Consul's api.Lock (https://github.com/hashicorp/consul/tree/main/api), each on a session of its own, which the
// library makes and renews.
//
// Its documentation (1.34.5, https://pkg.go.dev/github.com/hashicorp/consul/api@v1.34.5#Lock.Lock) says that Lock "returns a
// channel that is closed if our lock is lost or an error", and that "it is NOT safe to assume that the lock is
// held until Unlock()". That channel is the loss here. No lease is claimed, as a session may end at any time.
//
// Defaults but for three lengths, which have to fit the lease: the session's TTL is the lease, the lock-delay two
// leases (15 s by default), and the library looks once a second at most whether it should stop (15 s by default).
package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients/go/adapter"
)

type lock struct {
	program *adapter.Program
	options adapter.Open
	wire    *wire
	at      int // the server in use
	held    map[string]*grant
}

type grant struct {
	lock *api.Lock
	done chan struct{} // closes at the release
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.options, l.held = o, map[string]*grant{}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	l.wire = &wire{next: transport}
	for _, c := range o.Client { // c1, c2, ... use one server each, as they would the agent of their machine
		l.at += int(c)
	}
	return adapter.Loaded(adapter.Abilities{"lease": false, "notifies": true, "several": true}, "github.com/hashicorp/consul/api"), nil
}

// Acquire goes to the next server after an error, until the wait ends. A write without an answer leaves it open what
// came of it.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	for {
		l.wire.doubt.Store(false)
		lost, held, err := l.try(ctx, key)
		switch {
		case lost != nil:
			g := &grant{held, make(chan struct{})}
			l.held[key] = g
			go l.program.LostAt(key, lost, g.done)
			return &adapter.Grant{}, nil
		case l.wire.doubt.Load():
			return nil, errors.Join(err, errors.New("a write was not answered"))
		case err != nil:
			l.at++
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(l.options.TTL / 10):
		}
	}
}

func (l *lock) try(ctx context.Context, key string) (<-chan struct{}, *api.Lock, error) {
	c, err := api.NewClient(&api.Config{Address: l.options.Servers[l.at%len(l.options.Servers)], HttpClient: &http.Client{Transport: l.wire}})
	if err != nil {
		return nil, nil, err
	}
	held, err := c.LockOpts(&api.LockOptions{
		Key: "picklock/" + key, SessionTTL: l.options.TTL.String(), LockDelay: 2 * l.options.TTL,
		LockWaitTime: min(max(l.options.TTL/2, 250*time.Millisecond), time.Second),
	})
	if err != nil {
		return nil, nil, err
	}
	lost, err := held.Lock(ctx.Done())
	return lost, held, err
}

// Release unlocks. The library does not look at what the service says to that; an error says that there was no answer.
func (l *lock) Release(key string) (bool, error) {
	g := l.held[key]
	if g == nil {
		return false, nil
	}
	delete(l.held, key)
	close(g.done)
	done := make(chan error, 1)
	go func() { done <- g.lock.Unlock() }()
	select {
	case err := <-done:
		if errors.Is(err, api.ErrLockNotHeld) {
			return false, nil
		}
		return err == nil, err
	case <-time.After(l.options.TTL):
		return false, errors.New("no answer")
	}
}

// wire observes whether the lock was asked for without an answer: the library reports any error alike.
type wire struct {
	next  http.RoundTripper
	doubt atomic.Bool
}

func (w *wire) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := w.next.RoundTrip(q)
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	if strings.Contains(q.URL.RawQuery, "acquire=") && (err != nil && !unsent || err == nil && r.StatusCode >= http.StatusInternalServerError) {
		w.doubt.Store(true)
	}
	return r, err
}

func main() {
	adapter.Serve(func(p *adapter.Program) adapter.Lock { return &lock{program: p} })
}
