package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/locktest"
)

// mine is the lock that a service might have: SET NX with an expiry, released by a
// plain DEL.
type mine struct {
	db  *redis.Client
	ttl time.Duration
}

func openMine(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("no server given")
	}
	return &mine{redis.NewClient(&redis.Options{Addr: o.Servers[0], MaxRetries: -1}), o.TTL}, nil
}

func (m *mine) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for {
		switch ok, err := m.db.SetNX(ctx, key, rand.Text(), m.ttl).Result(); {
		case err != nil:
			return clients.Grant{}, fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		case ok:
			return clients.Grant{Key: key}, nil
		}
		select {
		case <-ctx.Done():
			return clients.Grant{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (m *mine) Release(ctx context.Context, g clients.Grant) error {
	if err := m.db.Del(ctx, g.Key).Err(); err != nil {
		return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	return nil
}

func (m *mine) Close() error { return m.db.Close() }

// A lock without fencing tokens: that a paused holder's write gets through is known,
// and everything else must hold.
func ExampleRun() {
	var t *testing.T // that of the test function

	locktest.Run(t, openMine, locktest.Options{
		Cluster: "redis",
		Expect: map[string][]string{
			"pause-holder":  {"stale-write", "lost-update"},
			"delayed-write": {"stale-write", "lost-update"},
		},
		Scenarios: []string{"pause-holder", "delayed-write", "testdata/deletes-anothers.yaml"},
		Faults:    []string{"kill:client"},
	})
}
