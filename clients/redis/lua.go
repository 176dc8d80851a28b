package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisLuaInfo() clients.Info {
	return clients.Info{
		Name:      "redis-lua",
		About:     "one Redis: a script that sets the key and draws a fencing token in one step",
		Cluster:   "redis",
		Fencing:   true,
		Confirms:  true,
		OwnLeases: true,
		MinTTL:    time.Millisecond,
		Inspect:   lookRedis,
		Open:      openRedis(func(l *redisLock) clients.Lock { return redisLua{l} }),
	}
}

// redisTake sets the key and draws the token, or returns nil. The counter has no
// expiry: it must outlive every grant.
const redisTake = `if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return false end`

// redisLua has a token that rises with every grant, as long as the server forgets
// nothing.
type redisLua struct{ *redisLock }

func (l redisLua) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := rand.Text()
	v, sent, err := l.try(ctx, key, value, "EVAL", redisTake, 2, key, key+":token", value, l.ttl.Milliseconds())
	if err != nil {
		return clients.Grant{}, err
	}
	token, ok := v.(int64)
	if !ok {
		return clients.Grant{}, fmt.Errorf("redis-lua: acquire %s: %w: the script returned %v instead of a number", key, clients.ErrUnknown, v)
	}
	return clients.Grant{Key: key, Token: token, Since: sent, Lease: l.ttl, Ref: value}, nil
}
