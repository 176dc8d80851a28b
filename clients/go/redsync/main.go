//go:build library

// redsync (https://github.com/go-redsync/redsync), Redlock over several Redis servers, on redigo, the
// one client that all versions of it can use.
//
// Its documentation (https://pkg.go.dev/github.com/go-redsync/redsync/v4) promises "a distributed mutual
// exclusion lock": a lock that a majority of the servers has granted, until its expiry less the drift.
//
// All defaults but the expiry, and one try a call: so the begin of the try that was granted is known in
// every version. An answer is given up after a fifth of the expiry, as its users have to decide.
package main

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"

	"github.com/picklock/picklock/clients/go/adapter"
)

const (
	drift = 0.01 // the library's default
	again = 50 * time.Millisecond
)

type lock struct {
	ttl  time.Duration
	sync *redsync.Redsync
	held map[string]*redsync.Mutex
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.ttl, l.held = o.TTL, map[string]*redsync.Mutex{}
	var all []pools.Pool
	within := max(o.TTL/5, 20*time.Millisecond)
	for _, server := range o.Servers {
		dial := func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", server, redis.DialConnectTimeout(within), redis.DialReadTimeout(within), redis.DialWriteTimeout(within))
		}
		all = append(all, redigo.NewPool(&redis.Pool{MaxIdle: 3, DialContext: dial}))
	}
	l.sync = redsync.New(all...)
	return adapter.Loaded(adapter.Abilities{"lease": true, "renew": true, "several": true}, "github.com/go-redsync/redsync/v4"), nil
}

// Acquire tries until the wait ends. Without a majority nobody holds the lock.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	m := l.sync.NewMutex(key, redsync.WithExpiry(l.ttl), redsync.WithTries(1))
	for {
		since := adapter.Monotonic()
		if err := m.LockContext(ctx); err == nil {
			l.held[key] = m
			return &adapter.Grant{Lease: l.lease(since), Expired: !m.Until().After(time.Now())}, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(again):
		}
	}
}

func (l *lock) lease(since int64) *adapter.Lease {
	return &adapter.Lease{For: l.ttl - time.Duration(drift*float64(l.ttl)), Since: since}
}

// Renew and Release: false without an error is the answer of a majority that the lock is not the
// client's; an error says no more than that a majority did not confirm.
func (l *lock) Renew(key string) (*adapter.Lease, error) {
	m := l.held[key]
	if m == nil {
		return nil, nil
	}
	since := adapter.Monotonic()
	if ok, err := m.ExtendContext(context.Background()); !ok {
		return nil, err
	}
	return l.lease(since), nil
}

func (l *lock) Release(key string) (bool, error) {
	m := l.held[key]
	if m == nil {
		return false, nil
	}
	delete(l.held, key)
	return m.UnlockContext(context.Background())
}

func main() { adapter.Serve(func(*adapter.Program) adapter.Lock { return &lock{} }) }
