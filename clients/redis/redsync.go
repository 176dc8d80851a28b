package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func redsyncInfo() clients.Info {
	return clients.Info{
		Name:      "redsync",
		About:     "github.com/go-redsync/redsync/v4 as shipped, on go-redis as shipped: all defaults but the expiry",
		Cluster:   "redlock",
		Module:    "github.com/go-redsync/redsync/v4",
		OwnLeases: true,
		MinTTL:    10 * time.Millisecond,
		Inspect:   lookRedis,
		Options: append([]clients.Option{
			{Name: "tries", About: "how often one Lock tries before it gives up", Default: "32", Check: adapter.Checks(adapter.ParseCount)},
			{Name: "drift-factor", About: "share of the expiry kept back for clocks that run at different speeds", Default: "0.01", Check: adapter.Checks(parseShare), Safer: []string{"0.1"}},
			{Name: "fail-fast", About: "go on as soon as a majority has answered", Default: "no", Check: adapter.Checks(adapter.ParseSwitch), Safer: []string{"no"}},
			{Name: "set-nx-on-extend", About: "an extension acquires a lock that is gone anew: it does not notice another holder in between", Default: "no", Check: adapter.Checks(adapter.ParseSwitch), Safer: []string{"no"}},
		}, goRedisOptions...),
		Open: openRedsync,
	}
}

// shippedRedsync is redsync as its own example uses it. What the user sees is
// Lock's answer and Mutex.Until.
type shippedRedsync struct {
	*redlock
	with  []redsync.Option
	drift float64
}

func openRedsync(_ context.Context, o clients.Options) (clients.Lock, error) {
	tries, err1 := adapter.Read(o, "tries", 32, adapter.ParseCount)
	drift, err2 := adapter.Read(o, "drift-factor", redlockDrift, parseShare)
	fast, err3 := adapter.Read(o, "fail-fast", false, adapter.ParseSwitch)
	again, err4 := adapter.Read(o, "set-nx-on-extend", false, adapter.ParseSwitch)
	settings, err5 := goRedis(o)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, fmt.Errorf("redsync: %w", err)
	}
	inner, err := newRedlock(o, func(addr string) *redis.Client {
		s := *settings
		s.Addr = addr
		s.Dialer = dialer(o, &s)
		return redis.NewClient(&s)
	})
	if err != nil {
		return nil, err
	}
	l := &shippedRedsync{redlock: inner, drift: drift, with: []redsync.Option{redsync.WithExpiry(o.TTL)}}
	if o.Extra["tries"] != "" {
		l.with = append(l.with, redsync.WithTries(tries))
	}
	if o.Extra["drift-factor"] != "" {
		l.with = append(l.with, redsync.WithDriftFactor(drift))
	}
	if fast {
		l.with = append(l.with, redsync.WithFailFast(true))
	}
	if again {
		l.with = append(l.with, redsync.WithSetNXOnExtend())
	}
	return l, nil
}

// Acquire calls Lock once, with its own limit of tries. Its failures are certain,
// as those of redlock are.
func (l *shippedRedsync) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	m := l.sync.NewMutex(key, l.with...)
	asked := history.Now()
	l.options.TellWaiting() // the library does not report a refusal
	if err := m.LockContext(ctx); err != nil {
		return clients.Grant{}, fmt.Errorf("redsync: acquire %s: %w", key, err)
	}
	r := l.until(m, asked)
	return clients.Grant{Key: key, Since: r.Since, Lease: r.Lease, Ref: m}, nil
}

// Renew calls Extend, which remembers Until as Lock does.
func (l *shippedRedsync) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	m := g.Ref.(*redsync.Mutex)
	asked := history.Now()
	if ok, err := m.ExtendContext(ctx); !ok {
		return clients.Renewal{}, l.failed("renew", g.Key, err)
	}
	return l.until(m, asked), nil
}

// until is what the library promises, on the raw clock: Until is the start of the
// round of requests that was granted + expiry - drift. A round cannot have begun
// before it was asked for. The clocks are read in the order that makes a pause
// between them shorten the promise.
func (l *shippedRedsync) until(m *redsync.Mutex, asked int64) clients.Renewal {
	lease := l.ttl - time.Duration(float64(l.ttl)*l.drift)
	now := history.Now()
	left := time.Until(m.Until())
	return clients.Renewal{Since: max(asked, now+int64(left)-int64(lease)), Lease: lease}
}

// goRedisOptions are the settings of go-redis that matter to a lock when answers are lost.
var goRedisOptions = []clients.Option{
	{Name: "max-retries", About: "how often go-redis sends a command again that was not answered", Default: "3", Check: adapter.Checks(adapter.ParseCount), Safer: []string{"0"}},
	{Name: "read-timeout", About: "how long go-redis waits for an answer", Default: "5s", Check: adapter.Checks(adapter.ParseLength), Safer: []string{"0.2 leases"}},
	{Name: "context-timeout", About: "go-redis gives a command up when its context ends (ContextTimeoutEnabled)", Default: "no", Check: adapter.Checks(adapter.ParseSwitch), Safer: []string{"yes"}},
}

// goRedis is a configuration of go-redis with all defaults but for goRedisOptions.
func goRedis(o clients.Options) (*redis.Options, error) {
	logging.Disable() // it logs every dial that a fault makes fail
	retries, err1 := adapter.Read(o, "max-retries", 3, adapter.ParseCount)
	read, err2 := adapter.Read(o, "read-timeout", 0, adapter.ParseLength)
	heed, err3 := adapter.Read(o, "context-timeout", false, adapter.ParseSwitch)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if retries == 0 {
		retries = -1 // as go-redis spells none
	}
	return &redis.Options{MaxRetries: retries, DialTimeout: 5 * time.Second, ReadTimeout: read, ContextTimeoutEnabled: heed, CredentialsProviderContext: credentials(o)}, nil
}

func parseShare(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f < 1) {
		return 0, errors.New("want a share, 0 or more and below 1")
	}
	return f, nil
}
