// Package mylock is the lock of the sample in docs/quickstarts/go.md: one on Redis, without a
// mistake. The test of the sample makes one of it that deletes without looking whose the
// key is.
package mylock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)

type lock struct {
	db  *redis.Client
	ttl time.Duration
}

// Open connects to the first server.
func Open(_ context.Context, servers []string, ttl time.Duration) (clients.Lock, error) {
	if len(servers) == 0 {
		return nil, errors.New("no server given")
	}
	return &lock{redis.NewClient(&redis.Options{Addr: servers[0], MaxRetries: -1}), ttl}, nil
}

func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for {
		owner, since := rand.Text(), history.Now()
		switch ok, err := l.db.SetNX(ctx, key, owner, l.ttl).Result(); {
		case err != nil:
			return clients.Grant{}, fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		case ok:
			return clients.Grant{Key: key, Since: since, Lease: l.ttl, Ref: owner}, nil
		}
		select {
		case <-ctx.Done():
			return clients.Grant{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	n, err := l.delete(ctx, g)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	case n == 0:
		return clients.ErrNotHeld
	}
	return nil
}

func (l *lock) delete(ctx context.Context, g clients.Grant) (int64, error) {
	return release.Run(ctx, l.db, []string{g.Key}, g.Ref).Int64() // the test plants a mistake here
}

func (l *lock) Close() error { return l.db.Close() }
