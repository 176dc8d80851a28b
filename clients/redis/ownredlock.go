package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

// ownRedlock is https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
// in the form of many reimplementations, which stop at the majority. It promises its user
// the lock for a time from its return on, so its lease counts from there.
type ownRedlock struct {
	options clients.Options
	nodes   []*redisLock
	// left is how long the lock is good for after a round that began then (on the
	// wall clock).
	left  func(l *ownRedlock, began time.Time) time.Duration
	group sync.WaitGroup // requests whose answer is no longer awaited
	sets  sync.Map       // value -> a channel for each node, closed when it was asked to set it
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
		// A server that has not received the request in time lets the key expire.
		l.take(ctx, clients.Grant{Key: key, Ref: value})
		if ctx.Err() != nil {
			return clients.Grant{}, adapter.Timeout(ctx, "redlock", key, nil)
		}
		l.options.TellWaiting()
		if !adapter.Pause(ctx, l.options.TTL/50) {
			return clients.Grant{}, adapter.Timeout(ctx, "redlock", key, nil)
		}
	}
}

// round asks all servers at once; true says that a majority set the key.
func (l *ownRedlock) round(ctx context.Context, key, value string) bool {
	answers := make(chan bool, len(l.nodes))
	sent := make([]chan struct{}, len(l.nodes))
	for i, n := range l.nodes {
		sent[i] = make(chan struct{})
		l.group.Go(func() {
			defer close(sent[i])
			_, _, err := n.do(context.WithoutCancel(ctx), value, "SET", key, value, "NX", "PX", l.options.TTL.Milliseconds())
			answers <- err == nil
		})
	}
	l.sets.Store(value, sent)
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

// take removes the value from all servers and returns how many had it and how many did not. It
// waits for a majority of one of the two answers, or for all, as long as ctx lasts. It goes on
// with the other servers for a lease: a reachable server must not keep a key because another is
// unreachable.
func (l *ownRedlock) take(ctx context.Context, g clients.Grant) (had, gone int) {
	asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.options.TTL)
	answers := make(chan error, len(l.nodes))
	var all sync.WaitGroup
	var sent []chan struct{}
	if v, ok := l.sets.LoadAndDelete(g.Ref); ok {
		sent = v.([]chan struct{}) //nolint:forcetypeassert // round stores nothing else
	}
	for i, n := range l.nodes {
		all.Add(1)
		l.group.Go(func() {
			defer all.Done()
			// A server may still have the request to set the key before it: on another connection
			// it would come after the one to remove it.
			if sent != nil {
				select {
				case <-sent[i]:
				case <-asked.Done():
				}
			}
			answers <- n.Release(asked, g)
		})
	}
	l.group.Go(func() {
		defer cancel()
		all.Wait()
	})
	for n := 0; n < len(l.nodes) && 2*had <= len(l.nodes) && 2*gone <= len(l.nodes); n++ {
		select {
		case err := <-answers:
			if err == nil {
				had++
			} else if errors.Is(err, clients.ErrNotHeld) {
				gone++
			}
		case <-ctx.Done():
			return had, gone
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
