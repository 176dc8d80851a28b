package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func redisInfo() clients.Info {
	return clients.Info{
		Name:      "redis",
		About:     "one Redis: SET key value NX PX ttl, released by a compare-and-delete script",
		Cluster:   "redis",
		Confirms:  true,
		Holds:     true,
		OwnLeases: true,
		MinTTL:    time.Millisecond,
		Inspect:   lookRedis,
		Open:      openRedis(func(l *redisLock) clients.Lock { return askedRedis{l} }),
	}
}

// openRedis opens a lock that is made of one on one Redis.
func openRedis(wrap func(*redisLock) clients.Lock) func(context.Context, clients.Options) (clients.Lock, error) {
	return func(_ context.Context, o clients.Options) (clients.Lock, error) {
		if len(o.Servers) == 0 {
			return nil, errors.New("redis: no server given")
		}
		return wrap(newRedisLock(o, o.Servers[0], o.TTL)), nil
	}
}

// newRedisLock makes a lock on one server; patience is how long a command may wait
// for its answer.
func newRedisLock(o clients.Options, addr string, patience time.Duration) *redisLock {
	l := &redisLock{options: o, ttl: o.TTL, turn: make(chan struct{}, 1)}
	l.db = newRedis(o, addr, patience, &l.wire)
	return l
}

// The scripts of https://redis.io/docs/latest/commands/set/#patterns: they touch
// the key only while it holds the grant's own value.
const (
	redisRelease = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	redisHolds   = `if redis.call("get",KEYS[1])==ARGV[1] then return 1 else return 0 end`
	redisRenew   = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`
)

// redisLock is the lock that most people write on one Redis. Redis gives no
// number that rises with every grant, so there is no fencing token.
type redisLock struct {
	options clients.Options
	ttl     time.Duration
	db      *redis.Client
	turn    chan struct{} // one command at a time, so that wire watches the right one
	wire    adapter.Tap
}

// newRedis makes a client that sends each command once. It gives up a command that is not
// answered in the time that its lease would last.
func newRedis(o clients.Options, addr string, ttl time.Duration, w *adapter.Tap) *redis.Client {
	logging.Disable() // it logs every dial that a fault makes fail
	patience := min(max(ttl, 100*time.Millisecond), 5*time.Second)
	return redis.NewClient(&redis.Options{
		Addr:                       addr,
		Dialer:                     w.DialerOf(o, dialWithin(o, patience)),
		CredentialsProviderContext: credentials(o),
		MaxRetries:                 -1,
		DialerRetries:              1,
		DialTimeout:                min(patience, 500*time.Millisecond),
		ReadTimeout:                patience,
		WriteTimeout:               patience,
		PoolTimeout:                patience,
		ContextTimeoutEnabled:      true,
		PoolSize:                   10000, // after so many failed dials the pool tries only once a second
		PipelinePoolSize:           -1,
		DisableIdentity:            true,
		MaintNotificationsConfig:   &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// do sends one command and returns its reply and the time at which it was sent.
// mark is a string in the command that no other command carries.
func (l *redisLock) do(ctx context.Context, mark string, args ...any) (any, int64, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	l.wire.Watch(mark)
	v, err := l.db.Do(ctx, args...).Result()
	sent := l.wire.Sent()
	var reply redis.Error
	if err != nil && sent != 0 && !errors.As(err, &reply) {
		err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	return v, sent, err
}

func (l *redisLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := rand.Text()
	_, sent, err := l.try(ctx, key, value, "SET", key, value, "NX", "PX", l.ttl.Milliseconds())
	if err != nil {
		return clients.Grant{}, err
	}
	return clients.Grant{Key: key, Since: sent, Lease: l.ttl, Ref: value}, nil
}

// try sends a command that answers nil while the key is another's, again and again,
// and returns the first other answer and when its request was sent. value is in the
// command. Errors as for Acquire.
func (l *redisLock) try(ctx context.Context, key, value string, args ...any) (any, int64, error) {
	grace, cancel := adapter.WithGrace(ctx, l.ttl)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		v, sent, err := l.do(grace, value, args...)
		switch {
		case err == nil:
			return v, sent, nil
		case errors.Is(err, clients.ErrUnknown):
			return nil, 0, fmt.Errorf("redis: acquire %s: %w", key, err)
		case errors.Is(err, redis.Nil):
			l.options.TellWaiting()
		case ctx.Err() == nil:
			last = err // never sent, or refused by the server
		}
		adapter.Pause(ctx, l.ttl/50)
	}
	return nil, 0, adapter.Timeout(ctx, "redis", key, last)
}

func (l *redisLock) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.compareAnd(ctx, "release", g, redisRelease)
	return err
}

func (l *redisLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	sent, err := l.compareAnd(ctx, "renew", g, redisRenew, l.ttl.Milliseconds())
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: l.ttl}, nil
}

// askedRedis is a redisLock whose user compares the value before something important.
type askedRedis struct{ *redisLock }

// Holds implements clients.Holder.
func (l askedRedis) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	_, err := l.compareAnd(ctx, "ask for", g, redisHolds)
	if errors.Is(err, clients.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

func (l *redisLock) compareAnd(ctx context.Context, what string, g clients.Grant, script string, args ...any) (int64, error) {
	value := g.Ref.(string)
	v, sent, err := l.do(ctx, value, append([]any{"EVAL", script, 1, g.Key, value}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("redis: %s %s: %w", what, g.Key, err)
	}
	if v != int64(1) {
		return 0, fmt.Errorf("redis: %s %s: %w", what, g.Key, clients.ErrNotHeld)
	}
	return sent, nil
}

func (l *redisLock) Close() error { return l.db.Close() }
