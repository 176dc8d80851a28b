package clients

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

func init() {
	register(Info{
		Name:     "redis-lua",
		About:    "one Redis: a script that sets the key and draws a fencing token in one step",
		Cluster:  "redis",
		Fencing:  true,
		Confirms: true,
		MinTTL:   time.Millisecond,
		Look:     lookRedis,
		Open:     openRedis(func(l *redisLock) Lock { return redisLua{l} }),
	})
}

// redisTake sets the key and draws the token, or returns nil. The counter has no
// expiry: it must outlive every grant.
const redisTake = `if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return false end`

// redisLua has a token that rises with every grant, as long as the server forgets
// nothing.
type redisLua struct{ *redisLock }

func (l redisLua) Acquire(ctx context.Context, key string) (Grant, error) {
	value := rand.Text()
	v, sent, err := l.try(ctx, key, value, "EVAL", redisTake, 2, key, key+":token", value, l.ttl.Milliseconds())
	if err != nil {
		return Grant{}, err
	}
	token, ok := v.(int64)
	if !ok {
		return Grant{}, fmt.Errorf("redis-lua: acquire %s: %w: the script returned %v instead of a number", key, ErrUnknown, v)
	}
	return Grant{Key: key, Token: token, Since: sent, Lease: l.ttl, Ref: value}, nil
}
