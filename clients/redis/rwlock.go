package redis

import (
	"context"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisRwlockInfo() clients.Info {
	return clients.Info{
		Name:     "redis-rwlock",
		About:    "one Redis: a sorted set of the leases of readers or of one writer, kept by scripts on the server's clock; it favours readers",
		Cluster:  "redis",
		Kind:     clients.ReadWrite,
		Confirms: true, // as redis-semaphore
		MinTTL:   time.Millisecond,
		Inspect:  lookRedis,
		Open: openRedis(func(l *redisLock) clients.Lock {
			return redisRWLock{redisLeases{l}}
		}),
	}
}

// redisRWLock marks the leases of readers and writers in their names. A writer's is the
// only one while it lasts.
type redisRWLock struct{ redisLeases }

const (
	redisTakeShared = `local first=redis.call("zrange",KEYS[1],0,0)[1]
if first and string.sub(first,1,1)=="w" then return false end`
	redisTakeAlone = `if redis.call("zcard",KEYS[1])>0 then return false end`
)

func (l redisRWLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.take(ctx, key, "w", redisTakeAlone)
}

// AcquireShared implements Sharer.
func (l redisRWLock) AcquireShared(ctx context.Context, key string) (clients.Grant, error) {
	return l.take(ctx, key, "r", redisTakeShared)
}
