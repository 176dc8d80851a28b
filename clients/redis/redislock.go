package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func redislockInfo() clients.Info {
	return clients.Info{
		Name:      "redislock",
		About:     "github.com/bsm/redislock as shipped, on go-redis as shipped: one Redis, all defaults",
		Cluster:   "redis",
		Module:    "github.com/bsm/redislock",
		OwnLeases: true,
		MinTTL:    time.Millisecond,
		Holds:     true,
		Inspect:   lookRedis,
		// Not Confirms: go-redis sends an Obtain again that was not answered, and the
		// first one may arrive after all that followed. A key with the grant's own
		// token does not prove that the grant was in force all the time.
		Options: goRedisOptions,
		Open:    openRedislock,
	}
}

// redislockLock uses the library as its README does. Its Obtain tries once by
// default, so that waiting is the user's own loop.
type redislockLock struct {
	options clients.Options
	db      *redis.Client
	locker  *redislock.Client
	turn    sync.Mutex // one command at a time, so that wire watches the right one
	wire    adapter.Tap
}

func openRedislock(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("redislock: no server given")
	}
	settings, err := goRedis(o)
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	l := &redislockLock{options: o}
	settings.Addr = o.Servers[0]
	dial := dialer(o, settings)
	settings.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return adapter.Open(l.wire.Conn(c)), nil
	}
	l.db = redis.NewClient(settings)
	l.locker = redislock.New(l.db)
	return l, nil
}

// watching runs one command of the library whose request carries token. It returns
// when the request that counts was sent, and marks an error as unknown unless the
// request was never sent, or sent once and refused by the server.
func (l *redislockLock) watching(token string, command func() error) (int64, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.wire.Watch(token)
	err := command()
	n, last := l.wire.Sends()
	var refused redis.Error
	switch {
	case err == nil || n == 0 || errors.Is(err, redislock.ErrNotObtained):
	case errors.Is(err, redislock.ErrLockNotHeld):
		if n > 1 {
			err = fmt.Errorf("%w: asked twice, perhaps by the first: %w", clients.ErrUnknown, err)
		} else {
			err = fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
		}
	case n == 1 && errors.As(err, &refused):
	default:
		err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	return last, err
}

func (l *redislockLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for {
		token := rand.Text()
		var held *redislock.Lock
		sent, err := l.watching(token, func() (err error) {
			held, err = l.locker.Obtain(ctx, key, l.options.TTL, &redislock.Options{Token: token})
			return err
		})
		switch {
		case err == nil:
			return clients.Grant{Key: key, Since: sent, Lease: l.options.TTL, Ref: held}, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("redislock: acquire %s: %w", key, err)
		case errors.Is(err, redislock.ErrNotObtained):
			l.options.TellWaiting()
		case ctx.Err() == nil:
			last = err
		}
		if !adapter.Pause(ctx, l.options.TTL/50) {
			return clients.Grant{}, adapter.Timeout(ctx, "redislock", key, last)
		}
	}
}

func (l *redislockLock) Release(ctx context.Context, g clients.Grant) error {
	held := g.Ref.(*redislock.Lock)
	if _, err := l.watching(held.Token(), func() error { return held.Release(ctx) }); err != nil {
		return fmt.Errorf("redislock: release %s: %w", g.Key, err)
	}
	return nil
}

func (l *redislockLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	held := g.Ref.(*redislock.Lock)
	sent, err := l.watching(held.Token(), func() error { return held.Refresh(ctx, l.options.TTL, nil) })
	if errors.Is(err, redislock.ErrNotObtained) {
		err = fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
	}
	if err != nil {
		return clients.Renewal{}, fmt.Errorf("redislock: renew %s: %w", g.Key, err)
	}
	return clients.Renewal{Since: sent, Lease: l.options.TTL}, nil
}

// Holds implements clients.Holder.
func (l *redislockLock) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	held := g.Ref.(*redislock.Lock)
	var left time.Duration
	_, err := l.watching(held.Token(), func() (err error) {
		left, err = held.TTL(ctx)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("redislock: ask for %s: %w", g.Key, err)
	}
	return left > 0, nil
}

func (l *redislockLock) Close() error { return l.db.Close() }
