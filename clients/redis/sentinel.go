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
	"github.com/picklock/picklock/clients/internal/adapter"
)

func redisSentinelInfo() clients.Info {
	return clients.Info{
		Name:    "redis-sentinel",
		About:   "Redis with replicas and sentinels: SET NX PX and a token in one script, on the master that the sentinels give go-redis's FailoverClient",
		Cluster: "redis-sentinel",
		Module:  "github.com/redis/go-redis/v9",
		Fencing: true,
		// A master that has been replaced unnoticed confirms what its successor has granted
		// meanwhile: the service confirms both holders.
		Confirms: true,
		MinTTL:   10 * time.Millisecond,
		Inspect:  lookRedis,
		Options: []clients.Option{
			{Name: "master", About: "the name by which the sentinels know the master", Default: "mymaster", Check: adapter.Checks(adapter.ParseMaster)},
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
	sentinels, as, err := findSentinels(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("redis-sentinel: %w", err)
	}
	l := &redisLock{options: o, ttl: o.TTL, turn: make(chan struct{}, 1)}
	l.db, err = newFailover(sentinels, o, as, &l.wire)
	if err != nil {
		return nil, fmt.Errorf("redis-sentinel: %w", err)
	}
	return redisLua{l}, nil
}

// findSentinels asks the servers which of them are sentinels, and with which login. The others
// name a sentinel that is down.
func findSentinels(ctx context.Context, o clients.Options) (out []string, as clients.Options, err error) {
	as = o
	var last error
	for _, addr := range o.Servers {
		name, let, err := role(ctx, o, addr, time.Second)
		if err == nil && name == sentinelRole {
			out, as = append(out, addr), let
		}
		last = errors.Join(last, err)
	}
	if len(out) == 0 {
		return nil, as, errors.Join(errors.New("no server is a sentinel"), last)
	}
	return out, as, nil
}

// newFailover makes a client as newRedis does, for whichever master there is. as has the login
// of the sentinels.
func newFailover(sentinels []string, o, as clients.Options, w *adapter.Tap) (*redis.Client, error) {
	logging.Disable()
	username, password, err := as.Login()
	if err != nil {
		return nil, err
	}
	patience := min(max(o.TTL, 100*time.Millisecond), 5*time.Second)
	dial := w.DialerOf(o, dialWithin(o, patience))
	master := o.Extra["master"]
	if master == "" {
		master = "mymaster"
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:    master,
		SentinelAddrs: sentinels,

		SentinelUsername: username,
		SentinelPassword: password,
		// The kernel knows that a killed master's connection is gone.
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return adapter.Open(c), nil
		},
		CredentialsProviderContext: credentials(o),
		MaxRetries:                 -1,
		DialerRetries:              1,
		DialTimeout:                min(patience, 500*time.Millisecond),
		ReadTimeout:                patience,
		WriteTimeout:               patience,
		PoolTimeout:                patience,
		ContextTimeoutEnabled:      true,
		PoolSize:                   10000, // as in newRedis
		PipelinePoolSize:           -1,
		DisableIdentity:            true,
	}), nil
}
