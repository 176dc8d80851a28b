package redis

import (
	"context"
	"crypto/rand"

	"github.com/picklock/picklock/clients"
)

func redisSetnxInfo() clients.Info {
	return clients.Info{
		Name:     "redis-setnx",
		About:    "one Redis: SET NX without an expiry: a client that crashes keeps the lock",
		Cluster:  "redis",
		Confirms: true,
		Naive:    true,
		Inspect:  lookRedis,
		Open:     openRedis(func(l *redisLock) clients.Lock { return redisSetNX{l} }),
	}
}

// redisSetNX is the lock of the oldest articles, and of users who fear that a lease could end too
// early.
type redisSetNX struct{ *redisLock }

func (l redisSetNX) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := rand.Text()
	if _, _, err := l.try(ctx, key, value, "SET", key, value, "NX"); err != nil {
		return clients.Grant{}, err
	}
	return clients.Grant{Key: key, Ref: value}, nil
}

// Renew hides that of redisLock, which would give the key an expiry.
func (redisSetNX) Renew() {}
