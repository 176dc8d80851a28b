package redis

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisRwlockInfo() clients.Info {
	return clients.Info{
		Name:       "redis-rwlock",
		About:      "one Redis: a sorted set of the leases of readers or of one writer, kept by scripts on the server's clock; it favours readers",
		Cluster:    "redis",
		Kind:       clients.ReadWrite,
		Confirms:   true, // as redis-semaphore
		Downgrades: true,
		OwnLeases:  true,
		MinTTL:     time.Millisecond,
		Inspect:    lookRedis,
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

// redisDowngrade puts a reader's lease, which begins now, in the place of a writer's.
const redisDowngrade = `if redis.call("zrem",KEYS[1],ARGV[1])==0 then return 0 end
local t=redis.call("time") local now=t[1]*1000000+t[2]
redis.call("zadd",KEYS[1],string.format("%.0f",now+ARGV[2]),ARGV[3])
` + redisKeep

// Downgrade implements clients.Downgrader.
func (l redisRWLock) Downgrade(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	reader := "r" + rand.Text()
	sent, err := l.compareAnd(ctx, "downgrade", g, redisDowngrade, l.ttl.Microseconds(), reader)
	if err != nil {
		return clients.Grant{}, err
	}
	return clients.Grant{Key: g.Key, Since: sent, Lease: l.ttl, Ref: reader}, nil
}
