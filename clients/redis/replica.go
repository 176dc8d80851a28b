package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func redisReplicaInfo() clients.Info {
	return clients.Info{
		Name:    "redis-replica",
		About:   "Redis with a replica that takes over: SET NX PX and a token in one script, on the current master",
		Cluster: "redis-replica",
		Fencing: true,
		MinTTL:  10 * time.Millisecond,
		Naive:   true,
		Inspect: lookRedis,
		Open:    openRedisReplica,
	}
}

// redisReplica asks the servers which of them is the master, as a client asks the
// sentinels, and asks again when the master does not answer, or answers that it is a replica.
// The master answers before its replica knows of the grant: a takeover in between
// forgets it, and the token counter goes back.
type redisReplica struct {
	options clients.Options
	nodes   []*redisLock

	mu     sync.Mutex
	master *redisLock
}

func openRedisReplica(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("redis-replica: no servers given")
	}
	l := &redisReplica{options: o}
	for _, addr := range o.Servers {
		l.nodes = append(l.nodes, newRedisLock(o, addr, o.TTL))
	}
	return l, nil
}

// find returns the master, the remembered one unless anew.
func (l *redisReplica) find(ctx context.Context, anew bool) (*redisLock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.master != nil && !anew {
		return l.master, nil
	}
	l.master = nil
	var last error
	for _, n := range l.nodes {
		v, _, err := n.do(ctx, "ROLE", "ROLE")
		if err != nil {
			last = err
			continue
		}
		if role, ok := v.([]any); ok && len(role) > 0 && role[0] == "master" {
			l.master = n
			return n, nil
		}
	}
	if last == nil {
		last = errors.New("no server is the master")
	}
	return nil, fmt.Errorf("find the master: %w", last)
}

func (l *redisReplica) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := rand.Text()
	grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
	defer cancel()
	anew := false
	var last error
	for ctx.Err() == nil {
		n, err := l.find(grace, anew)
		if err == nil {
			var v any
			var sent int64
			v, sent, err = n.do(grace, value, "EVAL", redisTake, 2, key, key+":token", value, l.options.TTL.Milliseconds())
			token, ok := v.(int64)
			switch {
			case err == nil && ok:
				return clients.Grant{Key: key, Token: token, Since: sent, Lease: l.options.TTL, Ref: value}, nil
			case errors.Is(err, clients.ErrUnknown):
				_, _ = l.find(grace, true) // for the next time
				return clients.Grant{}, fmt.Errorf("redis-replica: acquire %s: %w", key, err)
			case errors.Is(err, redis.Nil):
				l.options.TellWaiting()
			default:
				anew = true
				last = err
			}
		} else {
			anew, last = true, err
		}
		adapter.Pause(ctx, l.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "redis-replica", key, last)
}

func (l *redisReplica) Release(ctx context.Context, g clients.Grant) error {
	n, err := l.find(ctx, false)
	if err == nil {
		err = n.Release(ctx, g)
	}
	var reply redis.Error
	if err != nil && !errors.Is(err, clients.ErrUnknown) && !errors.Is(err, clients.ErrNotHeld) && (!errors.As(err, &reply) || strings.HasPrefix(reply.Error(), "READONLY")) {
		// It did not reach a master: the current one may have the key.
		if n, err = l.find(ctx, true); err == nil {
			return n.Release(ctx, g)
		}
	}
	return err
}

// Close closes every server's connection.
func (l *redisReplica) Close() error {
	var all []error
	for _, n := range l.nodes {
		all = append(all, n.Close())
	}
	return errors.Join(all...)
}
