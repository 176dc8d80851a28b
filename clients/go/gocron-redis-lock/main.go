//go:build library

// gocron-redis-lock (https://github.com/go-co-op/gocron-redis-lock), the locker that gocron takes before it runs a
// job: redsync on one Redis, on go-redis.
//
// Its documentation (2.1.0, https://pkg.go.dev/github.com/go-co-op/gocron-redis-lock/v2@v2.1.0) promises "an implementation of
// the Locker interface using redis", and passes redsync's options on. redsync's expiry less its drift is the lease.
//
// Defaults but the expiry, and one try a call: so the begin of the try that was granted is known. It renews nothing by
// default. It tells one error for all failures of a release.
package main

import (
	"context"
	"time"

	library "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients/go/adapter"
)

const (
	drift = 0.01 // redsync's default
	again = 50 * time.Millisecond
)

type lock struct {
	ttl    time.Duration
	locker gocron.Locker
	held   map[string]gocron.Lock
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.ttl, l.held = o.TTL, map[string]gocron.Lock{}
	// The error says only that Redis cannot be reached yet.
	l.locker, _ = library.NewRedisLockerAlways(redis.NewClient(&redis.Options{Addr: o.Servers[0]}), library.WithExpiry(o.TTL), library.WithTries(1))
	return adapter.Loaded(adapter.Abilities{"lease": true}, "github.com/go-co-op/gocron-redis-lock/v2"), nil
}

// Acquire tries until the wait ends. redsync takes back what it was not granted in time.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	for {
		since := adapter.Monotonic()
		if held, err := l.locker.Lock(ctx, key); err == nil {
			l.held[key] = held
			return &adapter.Grant{Lease: &adapter.Lease{For: l.ttl - time.Duration(drift*float64(l.ttl)), Since: since}}, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(again):
		}
	}
}

func (l *lock) Release(key string) (bool, error) {
	held := l.held[key]
	if held == nil {
		return false, nil
	}
	delete(l.held, key)
	err := held.Unlock(context.Background())
	return err == nil, err
}

func main() { adapter.Serve(func(*adapter.Program) adapter.Lock { return &lock{} }) }
