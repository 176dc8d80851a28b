package redis

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisCounterInfo() clients.Info {
	return clients.Info{
		Name:     "redis-counter",
		About:    "one Redis: SET NX PX, with a token that each client counts in its own process",
		Cluster:  "redis",
		Fencing:  true,
		Confirms: true,
		MinTTL:   time.Millisecond,
		Naive:    true,
		Inspect:  lookRedis,
		Open:     openRedis(func(l *redisLock) clients.Lock { return &redisCounter{redisLock: l} }),
	}
}

// redisCounter has a counter in its own process, independent of the other clients' counters, and
// starts anew with every restart.
type redisCounter struct {
	*redisLock
	last atomic.Int64
}

func (l *redisCounter) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := l.redisLock.Acquire(ctx, key)
	if err == nil {
		g.Token = l.last.Add(1)
	}
	return g, err
}
