package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/wire"
	"github.com/picklock/picklock/history"
)

// ownRedlock is https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
// as it is written by those who know what a majority is and stop reading there. What
// it tells its user is "yours for so long from now on", so its promise counts from
// its return: that is what a history has to hold it to.
type ownRedlock struct {
	options clients.Options
	nodes   []*redisLock
	// left is how long the lock is good for after a round that began then (on the
	// wall clock).
	left  func(l *ownRedlock, began time.Time) time.Duration
	group sync.WaitGroup // requests that nobody waits for any more
}

func openOwnRedlock(left func(*ownRedlock, time.Time) time.Duration) func(context.Context, clients.Options) (clients.Lock, error) {
	return func(_ context.Context, o clients.Options) (clients.Lock, error) {
		if len(o.Servers) == 0 {
			return nil, errors.New("redlock: no servers given")
		}
		l := &ownRedlock{options: o, left: left}
		for _, addr := range o.Servers {
			l.nodes = append(l.nodes, newRedisLock(o, addr, 5*time.Second))
		}
		return l, nil
	}
}

// Acquire fails for certain whenever it fails, as that of redlock does.
func (l *ownRedlock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for {
		value := rand.Text()
		began := time.Now().Round(0)
		if l.round(ctx, key, value) {
			if left := l.left(l, began); left > 0 {
				return clients.Grant{Key: key, Since: history.Now(), Lease: left, Ref: value}, nil
			}
		}
		// What a server has not heard of in time expires there.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.options.TTL)
		if ctx.Err() != nil {
			l.group.Go(func() {
				defer cancel()
				l.take(clean, clients.Grant{Key: key, Ref: value})
			})
			return clients.Grant{}, wire.Timeout(ctx, "redlock", key, nil)
		}
		l.take(clean, clients.Grant{Key: key, Ref: value})
		cancel()
		l.options.TellWaiting()
		if !wire.Pause(ctx, l.options.TTL/50) {
			return clients.Grant{}, wire.Timeout(ctx, "redlock", key, nil)
		}
	}
}

// round asks all servers at once; true says that a majority set the key.
func (l *ownRedlock) round(ctx context.Context, key, value string) bool {
	answers := make(chan bool, len(l.nodes))
	for _, n := range l.nodes {
		l.group.Go(func() {
			_, _, err := n.do(context.WithoutCancel(ctx), value, "SET", key, value, "NX", "PX", l.options.TTL.Milliseconds())
			answers <- err == nil
		})
	}
	yes, no := 0, 0
	for 2*yes <= len(l.nodes) && 2*no < len(l.nodes) {
		select {
		case got := <-answers:
			if got {
				yes++
			} else {
				no++
			}
		case <-ctx.Done():
			return false
		}
	}
	return 2*yes > len(l.nodes)
}

// take removes the value from all servers and returns how many had it.
func (l *ownRedlock) take(ctx context.Context, g clients.Grant) (had, gone int) {
	answers := make(chan error, len(l.nodes))
	for _, n := range l.nodes {
		l.group.Go(func() { answers <- n.Release(ctx, g) })
	}
	for had+gone < len(l.nodes) {
		err := <-answers
		switch {
		case err == nil:
			had++
		case errors.Is(err, clients.ErrNotHeld):
			gone++
		default:
			return had, gone // some are out of reach: what is left expires
		}
	}
	return had, gone
}

func (l *ownRedlock) Release(ctx context.Context, g clients.Grant) error {
	had, gone := l.take(ctx, g)
	switch {
	case 2*had > len(l.nodes):
		return nil
	case 2*gone > len(l.nodes):
		return fmt.Errorf("redlock: release %s: %w", g.Key, clients.ErrNotHeld)
	}
	return fmt.Errorf("redlock: release %s: %w: too few servers answered", g.Key, clients.ErrUnknown)
}

// Close ends the requests that are under way and closes every server's connection.
func (l *ownRedlock) Close() error {
	var all []error
	for _, n := range l.nodes {
		all = append(all, n.Close())
	}
	l.group.Wait()
	return errors.Join(all...)
}
