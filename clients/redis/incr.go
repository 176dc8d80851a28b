package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisIncrInfo() clients.Info {
	return clients.Info{
		Name:     "redis-incr",
		About:    "one Redis: a token by INCR first, then SET NX PX: a waiting client keeps an old token",
		Cluster:  "redis",
		Fencing:  true,
		Confirms: true,
		MinTTL:   time.Millisecond,
		Naive:    true,
		Inspect:  lookRedis,
		Open:     openRedis(func(l *redisLock) clients.Lock { return redisIncr{l} }),
	}
}

// redisIncr draws its token before it has won the lock, so that tokens have the
// order of the requests and not of the grants.
type redisIncr struct{ *redisLock }

func (l redisIncr) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	v, _, err := l.do(ctx, key+":token", "INCR", key+":token")
	token, ok := v.(int64)
	if err == nil && !ok {
		err = fmt.Errorf("got %v instead of a number", v)
	}
	if err != nil {
		// Not wrapped: nothing but a number was lost, whether it was drawn or not.
		return clients.Grant{}, fmt.Errorf("redis-incr: draw a token for %s: %s", key, err.Error())
	}
	value := rand.Text()
	_, sent, err := l.try(ctx, key, value, "SET", key, value, "NX", "PX", l.ttl.Milliseconds())
	if err != nil {
		return clients.Grant{}, err
	}
	return clients.Grant{Key: key, Token: token, Since: sent, Lease: l.ttl, Ref: value}, nil
}
