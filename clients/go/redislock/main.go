//go:build library

// redislock (https://github.com/bsm/redislock) on one Redis, on go-redis, both with their defaults.
//
// Its documentation (0.9.4, https://pkg.go.dev/github.com/bsm/redislock@v0.9.4) promises that Obtain "tries to
// obtain a new lock using a key with the given TTL", that Refresh "extends the lock with a new TTL", and two errors
// that are answers: ErrNotObtained and ErrLockNotHeld.
//
// Obtain tries once by default, so that waiting is the user's own loop. go-redis sends a request again that was not
// answered: of an error after something was sent nobody knows what came of it.
package main

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients/go/adapter"
)

type lock struct {
	ttl    time.Duration
	client *redislock.Client
	sent   atomic.Int64 // how often anything was sent
	held   map[string]*redislock.Lock
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.ttl, l.held = o.TTL, map[string]*redislock.Lock{}
	settings := &redis.Options{Addr: o.Servers[0]}
	dial := redis.NewDialer(settings)
	settings.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &wire{c, &l.sent}, nil
	}
	l.client = redislock.New(redis.NewClient(settings))
	return adapter.Loaded(adapter.Abilities{"lease": true, "renew": true, "several": true}, "github.com/bsm/redislock"), nil
}

func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	for {
		before, since := l.sent.Load(), adapter.Monotonic()
		held, err := l.client.Obtain(ctx, key, l.ttl, nil)
		switch {
		case err == nil:
			l.held[key] = held
			return &adapter.Grant{Lease: &adapter.Lease{For: l.ttl, Since: since}}, nil
		case errors.Is(err, redislock.ErrNotObtained):
		case l.sent.Load() != before:
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(l.ttl / 50):
		}
	}
}

// Renew returns nil where the library says that the lock is not the client's.
func (l *lock) Renew(key string) (*adapter.Lease, error) {
	held := l.held[key]
	if held == nil {
		return nil, nil
	}
	since := adapter.Monotonic()
	err := held.Refresh(context.Background(), l.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, nil
	}
	return &adapter.Lease{For: l.ttl, Since: since}, err
}

func (l *lock) Release(key string) (bool, error) {
	held := l.held[key]
	if held == nil {
		return false, nil
	}
	delete(l.held, key)
	err := held.Release(context.Background())
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// wire observes whether anything was sent.
type wire struct {
	net.Conn
	sent *atomic.Int64
}

func (w *wire) Write(b []byte) (int, error) {
	w.sent.Add(1)
	return w.Conn.Write(b)
}

func main() { adapter.Serve(func(*adapter.Program) adapter.Lock { return &lock{} }) }
