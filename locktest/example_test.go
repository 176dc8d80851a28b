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
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/locktest"
)

// mine is the lock that a service might have: SET NX with an expiry, released by a
// script that compares the owner.
type mine struct {
	db    *redis.Client
	ttl   time.Duration
	plain bool // released by a plain DEL instead: the mistake that the tests look for
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)

func openMine(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("no server given")
	}
	return &mine{db: redis.NewClient(&redis.Options{Addr: o.Servers[0], MaxRetries: -1}), ttl: o.TTL}, nil
}

func openPlain(ctx context.Context, o clients.Options) (clients.Lock, error) {
	l, err := openMine(ctx, o)
	if err == nil {
		l.(*mine).plain = true
	}
	return l, err
}

func (m *mine) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for {
		owner, since := rand.Text(), history.Now()
		switch ok, err := m.db.SetNX(ctx, key, owner, m.ttl).Result(); {
		case err != nil:
			return clients.Grant{}, fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		case ok:
			return clients.Grant{Key: key, Since: since, Lease: m.ttl, Ref: owner}, nil
		}
		select {
		case <-ctx.Done():
			return clients.Grant{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (m *mine) Release(ctx context.Context, g clients.Grant) error {
	if m.plain {
		if err := m.db.Del(ctx, g.Key).Err(); err != nil {
			return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		}
		return nil
	}
	n, err := release.Run(ctx, m.db, []string{g.Key}, g.Ref).Int()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	case n == 0:
		return clients.ErrNotHeld
	}
	return nil
}

func (m *mine) Close() error { return m.db.Close() }

// All of the catalogue that suits any lock, and clients that run by themselves while
// chance kills them.
func ExampleRun() {
	var t *testing.T // that of the test function

	locktest.Run(t, openMine, locktest.Options{
		Cluster: "redis",
		Faults:  []string{"kill:client"},
	})
}

// Whatever breaks the lock, beside the write of a holder that goes on after its lease, for
// this lock has no tokens: found without a scenario, within two minutes.
func ExampleHunt() {
	var t *testing.T

	locktest.Hunt(t, openMine, locktest.HuntOptions{
		Cluster:       "redis",
		IgnoreHazards: true,
	})
}

// Some scenarios only, one of them the user's. That a paused holder's write gets
// through is known of this lock, and has to be seen.
func ExampleRun_expect() {
	var t *testing.T

	locktest.Run(t, openMine, locktest.Options{
		Cluster:   "redis",
		Scenarios: []string{"pause-holder", "testdata/deletes-anothers.yaml"},
		Expect:    map[string][]string{"pause-holder": {"stale-write", "lost-update"}},
	})
}
