package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func redlockInfo() clients.Info {
	return clients.Info{
		Name:      "redlock",
		About:     "Redlock over independent Redis nodes: redsync, used with care (requests sent once, tried until the wait ends)",
		Cluster:   "redlock",
		Module:    "github.com/go-redsync/redsync/v4",
		OwnLeases: true,
		MinTTL:    10 * time.Millisecond,
		Inspect:   lookRedis,
		// Not Confirms: a majority that still has the value at the release may not
		// be the majority that made the grant (a set may reach a node late), so it
		// does not prove that the grant was in force all the time.
		Open: openRedlock,
	}
}

// redlock is a user of redsync with its defaults but for the expiry, a retry
// delay in proportion to it, and no limit of tries besides the context. Each try
// is a call of its own, so that its start is known on the raw clock.
type redlock struct {
	options clients.Options
	ttl     time.Duration
	sync    *redsync.Redsync
	clients []*redis.Client
}

// redlockDrift is the share of the expiry that redsync's default keeps back for
// clocks that run at different speeds.
const redlockDrift = 0.01

func openRedlock(_ context.Context, o clients.Options) (clients.Lock, error) {
	return newRedlock(o, func(addr string) *redis.Client { return newRedis(o, addr, o.TTL, new(adapter.Tap)) })
}

// newRedlock opens redsync on one client for each server.
func newRedlock(o clients.Options, client func(addr string) *redis.Client) (*redlock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("redlock: no servers given")
	}
	l := &redlock{options: o, ttl: o.TTL}
	var pools []redsyncredis.Pool
	for _, addr := range o.Servers {
		c := client(addr)
		l.clients = append(l.clients, c)
		pools = append(pools, goredis.NewPool(c))
	}
	l.sync = redsync.New(pools...)
	return l, nil
}

// Each failure of Acquire is certain: a Redlock grant is the client's own conclusion from a
// majority of answers. Without that conclusion no client holds the lock, though leftovers on
// some nodes may block others until they expire.
func (l *redlock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	m := l.sync.NewMutex(key, redsync.WithExpiry(l.ttl), redsync.WithDriftFactor(redlockDrift))
	var last error
	for {
		since := history.Now()
		err := m.TryLockContext(ctx)
		if err == nil {
			r := l.validity(since)
			return clients.Grant{Key: key, Since: r.Since, Lease: r.Lease, Ref: m}, nil
		}
		var node *redsync.RedisError
		if ctx.Err() == nil && errors.As(err, &node) {
			last = err
		}
		l.options.TellWaiting()
		if !adapter.Pause(ctx, l.ttl/50) {
			return clients.Grant{}, adapter.Timeout(ctx, "redlock", key, last)
		}
	}
}

// validity is the library's until, the start of the round of requests + expiry -
// drift, on the raw clock: since is read right before the round starts.
func (l *redlock) validity(since int64) clients.Renewal {
	return clients.Renewal{Since: since, Lease: l.ttl - time.Duration(float64(l.ttl)*redlockDrift)}
}

func (l *redlock) Release(ctx context.Context, g clients.Grant) error {
	if ok, err := g.Ref.(*redsync.Mutex).UnlockContext(ctx); !ok {
		return l.failed("release", g.Key, err)
	}
	return nil
}

func (l *redlock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	since := history.Now()
	if ok, err := g.Ref.(*redsync.Mutex).ExtendContext(ctx); !ok {
		return clients.Renewal{}, l.failed("renew", g.Key, err)
	}
	return l.validity(since), nil
}

// failed distinguishes the answer of a majority that the key is no longer the client's from too
// few answers.
func (l *redlock) failed(what, key string, err error) error {
	if 2*denials(err) > len(l.clients) {
		return fmt.Errorf("redlock: %s %s: %w: %w", what, key, clients.ErrNotHeld, err)
	}
	return fmt.Errorf("redlock: %s %s: %w: %w", what, key, clients.ErrUnknown, err)
}

// denials counts the nodes that answered that the key is gone or another's.
func denials(err error) int {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return len(taken.Nodes)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		n := 0
		for _, e := range joined.Unwrap() {
			n += denials(e)
		}
		return n
	}
	var node *redsync.ErrNodeTaken
	if errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.As(err, &node) {
		return 1
	}
	return 0
}

// Close closes every node's client.
func (l *redlock) Close() error {
	var all []error
	for _, c := range l.clients {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}
