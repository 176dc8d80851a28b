package redis

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisSemaphoreInfo() clients.Info {
	return clients.Info{
		Name:      "redis-semaphore",
		About:     "one Redis: a sorted set of leases, counted and extended by one script on the server's clock",
		Cluster:   "redis",
		Kind:      clients.Semaphore,
		Confirms:  true, // a lease that is still in the set has its permit
		OwnLeases: true,
		MinTTL:    time.Millisecond,
		Options:   []clients.Option{clients.PermitsOption()},
		Inspect:   lookRedis,
		Open: openRedis(func(l *redisLock) clients.Lock {
			return redisSemaphore{redisLeases{l}, clients.PermitsOf(l.options)}
		}),
	}
}

// redisLeases is a sorted set of leases, by when they end on the server's clock, in us:
// scores are doubles, which hold that exactly. A lease leaves the set when it is released,
// or when it was over and a client asked for one, and never before: so a lease in the set is in
// force.
type redisLeases struct{ *redisLock }

// The first lines of the scripts that take: they read the clock and drop what is over.
// ARGV is the member and its lease in us.
const redisPurge = `local t=redis.call("time") local now=t[1]*1000000+t[2]
redis.call("zremrangebyscore",KEYS[1],"-inf","("..string.format("%.0f",now))
`

// redisKeep lets the set outlive its longest lease by another one: a shorter lease, of another client, must not end it sooner.
const redisKeep = `local keep=math.ceil(ARGV[2]/500)
if redis.call("pttl",KEYS[1])<keep then redis.call("pexpire",KEYS[1],keep) end
return 1`

// The last lines.
const redisAdd = `
redis.call("zadd",KEYS[1],string.format("%.0f",now+ARGV[2]),ARGV[1])
` + redisKeep

const (
	redisLeaseRelease = `return redis.call("zrem",KEYS[1],ARGV[1])`
	redisLeaseRenew   = `if not redis.call("zscore",KEYS[1],ARGV[1]) then return 0 end
local t=redis.call("time") local now=t[1]*1000000+t[2]` + redisAdd
)

// take runs a script that answers 1 or nil; prefix marks the member.
func (l redisLeases) take(ctx context.Context, key, prefix, script string, args ...any) (clients.Grant, error) {
	member := prefix + rand.Text()
	args = append([]any{"EVAL", redisPurge + script + redisAdd, 1, key, member, l.ttl.Microseconds()}, args...)
	_, sent, err := l.try(ctx, key, member, args...)
	if err != nil {
		return clients.Grant{}, err
	}
	return clients.Grant{Key: key, Since: sent, Lease: l.ttl, Ref: member}, nil
}

func (l redisLeases) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.compareAnd(ctx, "release", g, redisLeaseRelease)
	return err
}

func (l redisLeases) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	sent, err := l.compareAnd(ctx, "renew", g, redisLeaseRenew, l.ttl.Microseconds())
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: l.ttl}, nil
}

// redisSemaphore gives leases while there are fewer than permits.
type redisSemaphore struct {
	redisLeases
	permits int
}

const redisSemaphoreTake = `if redis.call("zcard",KEYS[1])>=tonumber(ARGV[3]) then return false end`

func (l redisSemaphore) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.take(ctx, key, "", redisSemaphoreTake, l.permits)
}
