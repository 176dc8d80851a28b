package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/wire"
)

func redisSentinelInfo() clients.Info {
	return clients.Info{
		Name:    "redis-sentinel",
		About:   "Redis with replicas and sentinels: SET NX PX and a token in one script, on the master that go-redis's FailoverClient is told of",
		Cluster: "redis-sentinel",
		Module:  "github.com/redis/go-redis/v9",
		Fencing: true,
		// A master that has been replaced and does not know it confirms what its
		// successor gave away meanwhile: the service says that both held.
		Confirms: true,
		MinTTL:   10 * time.Millisecond,
		Inspect:  lookRedis,
		Options: []clients.Option{
			{Name: "master", About: "the name by which the sentinels know the master", Default: "mymaster"},
		},
		Open: openRedisSentinel,
	}
}

// openRedisSentinel opens the lock of one Redis on the master of the moment. The
// master answers before its replicas know of the grant: a failover in between
// forgets it, and the token counter goes back.
func openRedisSentinel(ctx context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("redis-sentinel: no server given")
	}
	sentinels, err := findSentinels(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("redis-sentinel: %w", err)
	}
	l := &redisLock{options: o, ttl: o.TTL, turn: make(chan struct{}, 1)}
	l.db = newFailover(sentinels, o, &l.wire)
	return redisLua{l}, nil
}

// findSentinels asks the servers which of them are sentinels. One that is down is
// heard of from the others.
func findSentinels(ctx context.Context, o clients.Options) ([]string, error) {
	var out []string
	var last error
	for _, addr := range o.Servers {
		c := newRedis(addr, time.Second, new(wire.Tap))
		role, err := c.Do(ctx, "ROLE").Slice()
		if err == nil && len(role) > 0 && role[0] == "sentinel" {
			out = append(out, addr)
		}
		last = errors.Join(last, err, c.Close())
	}
	if len(out) == 0 {
		return nil, errors.Join(errors.New("no server says that it is a sentinel"), last)
	}
	return out, nil
}

// newFailover makes a client as newRedis does, for whichever master there is.
func newFailover(sentinels []string, o clients.Options, w *wire.Tap) *redis.Client {
	logging.Disable()
	patience := min(max(o.TTL, 100*time.Millisecond), 5*time.Second)
	dial := w.Dialer(min(patience, 500*time.Millisecond))
	master := o.Extra["master"]
	if master == "" {
		master = "mymaster"
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:    master,
		SentinelAddrs: sentinels,
		// The kernel knows that a killed master's connection is gone.
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return wire.Open(c), nil
		},
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           min(patience, 500*time.Millisecond),
		ReadTimeout:           patience,
		WriteTimeout:          patience,
		PoolTimeout:           patience,
		ContextTimeoutEnabled: true,
		PoolSize:              10000, // as in newRedis
		PipelinePoolSize:      -1,
		DisableIdentity:       true,
	})
}
