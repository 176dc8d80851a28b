package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisDelInfo() clients.Info {
	return clients.Info{
		Name:    "redis-del",
		About:   "one Redis: SET NX PX, released by a plain DEL, without comparing the owner",
		Cluster: "redis",
		MinTTL:  time.Millisecond,
		Naive:   true,
		Inspect: lookRedis,
		Open:    openRedis(func(l *redisLock) clients.Lock { return redisDel{l} }),
	}
}

// redisDel leaves out the comparison that
// https://redis.io/docs/latest/commands/set/#patterns warns to make: a client that
// releases after its lease deletes the next holder's key.
type redisDel struct{ *redisLock }

func (l redisDel) Release(ctx context.Context, g clients.Grant) error {
	if _, _, err := l.do(ctx, g.Key, "DEL", g.Key); err != nil {
		return fmt.Errorf("redis-del: release %s: %w", g.Key, err)
	}
	return nil
}
