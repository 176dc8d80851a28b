package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func rueidislockInfo() clients.Info {
	return clients.Info{
		Name:    "rueidislock",
		About:   "github.com/redis/rueidis/rueidislock as shipped: keys that the library extends, and a context that it cancels; all defaults but the validity",
		Cluster: "redis",
		Module:  "github.com/redis/rueidis",
		MinTTL:  50 * time.Millisecond,
		// The context "will be canceled automatically and immediately once the KeyMajority is not held anymore"
		// (https://github.com/redis/rueidis/tree/v1.0.79/rueidislock#features-backed-by-the-redis-client-side-caching).
		Notifies: true,
		Inspect: func(ctx context.Context, o clients.Options, key string) (int, error) {
			return lookRedis(ctx, o, rueidisKey(key))
		},
		Options: []clients.Option{
			{Name: "key-majority", About: "how many of the lock's keys (2n-1) have to be held; the README wants 1 for one Redis", Default: "2", Check: adapter.Checks(parsePositive), Safer: []string{"1"}},
			{Name: "extend-interval", About: "how often the library extends the keys", Default: "half of the ttl", Check: adapter.Checks(adapter.ParseLength), Safer: []string{"0.2 leases"}},
			{Name: "try-next-after", About: "how long it waits for one key's answer", Default: "20ms", Check: adapter.Checks(adapter.ParseLength)},
			{Name: "fallback-set-px", About: "leases by length (PX) instead of by the client's wall clock (PXAT)", Default: "no", Check: adapter.Checks(adapter.ParseSwitch), Safer: []string{"yes"}},
			{Name: "no-loop-tracking", About: "the server does not notify a client of the keys that it changed itself", Default: "no", Check: adapter.Checks(adapter.ParseSwitch), Safer: []string{"yes"}},
		},
		Open: openRueidislock,
	}
}

// rueidisKey is the first of the Redis keys that stand for a lock.
func rueidisKey(key string) string { return "rueidislock:0:" + key }

// rueidisLock uses the library as its README does. A grant is a context; the library
// promises no time for which it lasts, so no lease is claimed.
type rueidisLock struct {
	options  clients.Options
	locker   rueidislock.Locker
	answers  *rueidisAnswers
	majority int
}

// rueidisGrant is a grant's Ref.
type rueidisGrant struct {
	held    context.Context
	release context.CancelFunc
	forget  context.CancelFunc // ends the context that the grant's own hangs on
}

func openRueidislock(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("rueidislock: no server given")
	}
	majority, err1 := adapter.Read(o, "key-majority", 2, parsePositive)
	extend, err2 := adapter.Read(o, "extend-interval", 0, adapter.ParseLength)
	next, err3 := adapter.Read(o, "try-next-after", 0, adapter.ParseLength)
	px, err4 := adapter.Read(o, "fallback-set-px", false, adapter.ParseSwitch)
	noLoop, err5 := adapter.Read(o, "no-loop-tracking", false, adapter.ParseSwitch)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, fmt.Errorf("rueidislock: %w", err)
	}
	l := &rueidisLock{options: o, majority: majority, answers: newRueidisAnswers()}
	var err error
	l.locker, err = rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidisAt(o),
		ClientBuilder: func(c rueidis.ClientOption) (rueidis.Client, error) {
			client, err := rueidis.NewClient(c)
			if err != nil {
				return nil, err
			}
			return &rueidisClient{client, l.answers}, nil
		},
		KeyValidity: o.TTL, ExtendInterval: extend, TryNextAfter: next, KeyMajority: int32(majority),
		FallbackSETPX: px, NoLoopTracking: noLoop,
	})
	if err != nil {
		return nil, fmt.Errorf("rueidislock: connect: %w", err)
	}
	return l, nil
}

// Each failure of Acquire is certain: a grant is the library's own conclusion from a majority of
// keys. Without that conclusion no client holds the lock, though leftover keys may block others
// until they expire.
func (l *rueidisLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	// The grant's context is made from the one that WithContext is given, and must
	// outlive the wait.
	base, forget := context.WithCancel(context.WithoutCancel(ctx))
	inTime := context.AfterFunc(ctx, forget)
	l.answers.clear(key)
	l.options.TellWaiting() // the library does not report a refusal
	held, release, err := l.locker.WithContext(base, key)
	if err == nil && !inTime() {
		release() // the wait ended with the grant
		err = ctx.Err()
	}
	if err != nil {
		forget()
		if ctx.Err() != nil {
			return clients.Grant{}, adapter.Timeout(ctx, "rueidislock", key, nil)
		}
		return clients.Grant{}, fmt.Errorf("rueidislock: acquire %s: %w", key, err)
	}
	return clients.Grant{Key: key, Lost: held.Done(), Ref: rueidisGrant{held, release, forget}}, nil
}

// Release calls the library's cancel, which deletes the keys and does not report the outcome: that
// comes from the answers. If the library gave the grant up by itself, the service has confirmed
// nothing.
func (l *rueidisLock) Release(_ context.Context, g clients.Grant) error {
	ref := g.Ref.(rueidisGrant)
	defer ref.forget()
	ref.release()
	ours, gone := l.answers.count(g.Key)
	switch {
	case gone >= l.majority:
		return fmt.Errorf("rueidislock: release %s: %w", g.Key, clients.ErrNotHeld)
	case ours >= l.majority:
		return nil
	}
	return fmt.Errorf("rueidislock: release %s: %w: too few deletions were answered", g.Key, clients.ErrUnknown)
}

func (l *rueidisLock) Close() error {
	l.locker.Close()
	return nil
}

func parsePositive(text string) (int, error) {
	n, err := adapter.ParseCount(text)
	if err != nil || n < 1 || n > 1000 {
		return 0, errors.New("want a whole number, 1 to 1000")
	}
	return n, nil
}

// rueidisName is the lock that a Redis key belongs to, "" for a key that is not the library's.
func rueidisName(key string) string {
	rest, ok := strings.CutPrefix(key, "rueidislock:")
	_, name, found := strings.Cut(rest, ":")
	if !ok || !found {
		return ""
	}
	return name
}
