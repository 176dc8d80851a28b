package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func redisSemaphoreNaiveInfo() clients.Info {
	return clients.Info{
		Name:     "redis-semaphore-naive",
		About:    "one Redis: the counting semaphore of Redis in Action, a sorted set by the clients' own clocks",
		Cluster:  "redis",
		Kind:     clients.Semaphore,
		Confirms: true, // its release says whether the entry had been removed
		MinTTL:   time.Millisecond,
		Naive:    true,
		Options:  []clients.Option{clients.PermitsOption()},
		Inspect:  lookRedis,
		Open: openRedis(func(l *redisLock) clients.Lock {
			return redisSemaphoreNaive{l, clients.PermitsOf(l.options)}
		}),
	}
}

// redisSemaphoreNaive is the recipe of section 6.3.1 of "Redis in Action"
// (https://redis.io/ebook/part-2-core-concepts/chapter-6-application-components-in-redis/6-3-counting-semaphores/):
// a client adds itself to the set with the time of its own clock, removes entries that are more
// than a TTL older, and has a permit if few enough are in front of it. A client whose clock is
// behind, if only by the time that its request took longer, gets in front of those that have
// permits. One whose clock is ahead removes them.
type redisSemaphoreNaive struct {
	lock    *redisLock
	permits int
}

const redisNaiveTake = `redis.call("zremrangebyscore",KEYS[1],"-inf",ARGV[2]-ARGV[3])
redis.call("zadd",KEYS[1],ARGV[2],ARGV[1]) return redis.call("zrank",KEYS[1],ARGV[1])`

func (l redisSemaphoreNaive) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	grace, cancel := adapter.WithGrace(ctx, l.lock.ttl)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		member := rand.Text()
		since := history.Now() // the lease begins when the clock is read
		v, _, err := l.lock.do(grace, member, "EVAL", redisNaiveTake, 1, key, member, time.Now().UnixMicro(), l.lock.ttl.Microseconds())
		rank, ok := v.(int64)
		switch {
		case err == nil && ok && rank < int64(l.permits):
			return clients.Grant{Key: key, Since: since, Lease: l.lock.ttl, Ref: member}, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("redis: acquire %s: %w", key, err)
		case err == nil:
			// If it stays, it blocks the others until it is too old.
			_, _, _ = l.lock.do(grace, member, "ZREM", key, member)
			l.lock.options.TellWaiting()
		case ctx.Err() == nil:
			last = err
		}
		adapter.Pause(ctx, l.lock.ttl/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "redis", key, last)
}

func (l redisSemaphoreNaive) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.lock.compareAnd(ctx, "release", g, redisLeaseRelease)
	return err
}

func (l redisSemaphoreNaive) Close() error { return l.lock.Close() }
