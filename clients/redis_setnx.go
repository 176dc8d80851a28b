package clients

import (
	"context"
	"crypto/rand"
)

func init() {
	register(Info{
		Name:     "redis-setnx",
		About:    "one Redis: SET NX without an expiry: whoever crashes keeps the lock",
		Cluster:  "redis",
		Confirms: true,
		Naive:    true,
		Look:     lookRedis,
		Open:     openRedis(func(l *redisLock) Lock { return redisSetNX{l} }),
	})
}

// redisSetNX is the lock of the oldest articles, and of all who fear that a lease
// could end too early.
type redisSetNX struct{ *redisLock }

func (l redisSetNX) Acquire(ctx context.Context, key string) (Grant, error) {
	value := rand.Text()
	if _, _, err := l.try(ctx, key, value, "SET", key, value, "NX"); err != nil {
		return Grant{}, err
	}
	return Grant{Key: key, Ref: value}, nil
}

// Renew hides that of redisLock, which would give the key an expiry.
func (redisSetNX) Renew() {}
