package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func redisDelayInfo() clients.Info {
	return clients.Info{
		Name:      "redis-delay",
		About:     "one Redis with a lock-delay: no client gets a lock that was not released for two more leases (option delay)",
		Cluster:   "redis",
		Confirms:  true,
		MinTTL:    time.Millisecond,
		Inspect:   lookRedis,
		Options:   []clients.Option{{Name: "delay", About: "lock-delay: how long an unreleased lock stays blocked after its lease", Default: "2 leases", Check: adapter.Checks(adapter.ParseLength), Safer: []string{"4 leases"}}},
		LockDelay: adapter.LockDelay,
		Open: func(ctx context.Context, o clients.Options) (clients.Lock, error) {
			delay, err := adapter.Read(o, "delay", 2*o.TTL, adapter.ParseLength)
			if err != nil {
				return nil, fmt.Errorf("redis-delay: %w", err)
			}
			return openRedis(func(l *redisLock) clients.Lock { return redisDelay{l, delay} })(ctx, o)
		},
	}
}

// redisDelay is the lock-delay of Chubby (Burrows, OSDI 2006, section 2.4), which
// Consul has too: the holder stops after its lease, and the key stays for longer, so
// that what the holder sent before arrives before the next holder starts. That is
// safe as long as no message is under way for longer than the delay. A release frees
// the lock at once.
type redisDelay struct {
	*redisLock
	delay time.Duration
}

func (l redisDelay) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := rand.Text()
	_, sent, err := l.try(ctx, key, value, "SET", key, value, "NX", "PX", (l.ttl + l.delay).Milliseconds())
	if err != nil {
		return clients.Grant{}, err
	}
	return clients.Grant{Key: key, Since: sent, Lease: l.ttl, Ref: value}, nil
}

func (l redisDelay) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	sent, err := l.compareAnd(ctx, "renew", g, redisRenew, (l.ttl + l.delay).Milliseconds())
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: l.ttl}, nil
}
