package memcached

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func memcachedInfo() clients.Info {
	return clients.Info{
		Name:      "memcached",
		About:     "memcached: add of a key that expires, renewed and released by compare-and-swap",
		Cluster:   "memcached",
		Confirms:  true, // every write names the value's version that it expects
		Holds:     true,
		OwnLeases: true,
		MinTTL:    time.Second,
		LeaseUnit: time.Second,
		Options:   []clients.Option{expiry, release},
		Inspect:   look,
		Open:      open,
	}
}

var (
	parseExpiry  = adapter.OneOf("rounded", "exact")
	parseRelease = adapter.OneOf("compare", "delete")

	expiry = clients.Option{
		Name: "expiry", Default: "rounded", Check: adapter.Checks(parseExpiry), Safer: []string{"rounded"},
		About: "the key's time to live: rounded is one second more than the lease, since memcached counts whole ticks of a second; exact is the lease, and up to a second less",
	}
	release = clients.Option{
		Name: "release", Default: "compare", Check: adapter.Checks(parseRelease), Safer: []string{"compare"},
		About: "how a release removes the key: compare only in the version that it has just read, delete in any",
	}
)

// memcachedLock is a key that a holder adds, with a value of its own. The versions (cas unique) that memcached gives to
// values are no fencing tokens: the protocol does not say that they rise
// (https://github.com/memcached/memcached/blob/master/doc/protocol.txt).
type memcachedLock struct {
	options clients.Options
	db      *memcache.Client
	seconds int32         // a key's time to live
	steals  bool          // a release deletes any value
	turn    chan struct{} // one request at a time, so that wire watches the right one
	wire    adapter.Tap
}

func open(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("memcached: no server given")
	}
	expires, err := adapter.Read(o, expiry.Name, expiry.Default, parseExpiry)
	if err != nil {
		return nil, fmt.Errorf("memcached: %w", err)
	}
	removes, err := adapter.Read(o, release.Name, release.Default, parseRelease)
	if err != nil {
		return nil, fmt.Errorf("memcached: %w", err)
	}
	l := &memcachedLock{options: o, seconds: int32(math.Ceil(o.TTL.Seconds())), steals: removes == "delete", turn: make(chan struct{}, 1)}
	if expires == "rounded" {
		l.seconds++
	}
	var servers memcache.ServerList
	if err := servers.SetServers(o.Servers[0]); err != nil {
		return nil, fmt.Errorf("memcached: %w", err)
	}
	l.db = memcache.NewFromSelector(&servers)
	l.db.MaxIdleConns = 1
	l.db.Timeout = min(max(o.TTL/2, 250*time.Millisecond), time.Second) // the library knows no contexts
	l.db.DialContext = l.wire.Dialer(l.db.Timeout)
	return l, nil
}

// do does one request, whose words contain mark, and returns when it was sent; 0 if it was not.
func (l *memcachedLock) do(ctx context.Context, mark string, request func() error) (int64, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	l.wire.Watch(mark)
	err := request()
	sent := l.wire.Sent()
	if err != nil && sent != 0 && !answered(err) {
		err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	return sent, err
}

// answered says that the server has refused the request.
func answered(err error) bool {
	return errors.Is(err, memcache.ErrNotStored) || errors.Is(err, memcache.ErrCASConflict) || errors.Is(err, memcache.ErrCacheMiss)
}

// Acquire asks until the key could be added.
func (l *memcachedLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for ctx.Err() == nil {
		owner := rand.Text()
		sent, err := l.do(ctx, owner, func() error {
			return l.db.Add(&memcache.Item{Key: key, Value: []byte(owner), Expiration: l.seconds})
		})
		switch {
		case err == nil:
			return clients.Grant{Key: key, Since: sent, Lease: l.lease(), Ref: owner}, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("memcached: acquire %s: %w", key, err)
		case errors.Is(err, memcache.ErrNotStored):
			last = nil
			l.options.TellWaiting()
		default:
			last = err // never sent
		}
		adapter.Pause(ctx, l.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "memcached", key, last)
}

// lease is how long a key is promised to live.
func (l *memcachedLock) lease() time.Duration {
	return time.Duration(math.Ceil(l.options.TTL.Seconds())) * time.Second
}

// Release removes the key, if it is still this grant's.
func (l *memcachedLock) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.change(ctx, "release", g, func(item *memcache.Item) error {
		if l.steals {
			return l.db.Delete(g.Key)
		}
		item.Expiration = -1 // it is over at once: deletions compare nothing
		return l.db.CompareAndSwap(item)
	})
	return err
}

// Renew gives the key its time to live anew, if it is still this grant's.
func (l *memcachedLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	sent, err := l.change(ctx, "renew", g, func(item *memcache.Item) error {
		item.Expiration = l.seconds
		return l.db.CompareAndSwap(item)
	})
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: l.lease()}, nil
}

// Holds implements clients.Holder.
func (l *memcachedLock) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	_, err := l.change(ctx, "ask for", g, func(*memcache.Item) error { return nil })
	if errors.Is(err, clients.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// change reads the key, and does something to it if its value is the grant's. It returns when that was sent.
func (l *memcachedLock) change(ctx context.Context, what string, g clients.Grant, do func(*memcache.Item) error) (int64, error) {
	var item *memcache.Item
	_, err := l.do(ctx, "", func() (err error) {
		item, err = l.db.Get(g.Key)
		return err
	})
	if err == nil && string(item.Value) != g.Ref.(string) {
		err = clients.ErrNotHeld
	}
	var sent int64
	if err == nil {
		sent, err = l.do(ctx, g.Key, func() error { return do(item) })
	}
	switch {
	case err == nil:
		return sent, nil
	case answered(err):
		err = clients.ErrNotHeld
	}
	return 0, fmt.Errorf("memcached: %s %s: %w", what, g.Key, err)
}

// Close ends the connection. A grant that was not released ends with its lease.
func (l *memcachedLock) Close() error { return l.db.Close() }

// look counts the holder of a key.
func look(_ context.Context, o clients.Options, key string) (int, error) {
	db := memcache.New(o.Servers[0])
	db.Timeout = adapter.InspectWithin
	_, err := db.Get(key)
	err = errors.Join(err, db.Close())
	switch {
	case errors.Is(err, memcache.ErrCacheMiss):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("memcached: look at %s: %w", key, err)
	}
	return 1, nil
}
