//go:build library

// rueidislock (https://github.com/redis/rueidis/tree/v1.0.79/rueidislock) on one Redis, with all its defaults but the
// validity: three keys stand for a lock, and two of them have to be held.
//
// Its README (1.0.79) promises that the context of a grant "will be canceled automatically and immediately once the
// KeyMajority is not held anymore". That is the loss here. The library extends the keys and reports nothing of
// it, so no lease is claimed.
//
// Without a majority of keys nobody holds the lock: each failure of an acquire is certain. A release is the call of
// cancel, which says nothing of its outcome.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/picklock/picklock/clients/go/adapter"
)

const again = 50 * time.Millisecond

type lock struct {
	program *adapter.Program
	options rueidislock.LockerOption
	locker  rueidislock.Locker // nil: there was no server to connect to
	held    map[string]*grant
}

type grant struct {
	ctx    context.Context
	cancel context.CancelFunc
	forget context.CancelFunc // ends the context that the grant's own hangs on
	done   chan struct{}      // closes at the release
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.held = map[string]*grant{}
	l.options = rueidislock.LockerOption{ClientOption: rueidis.ClientOption{InitAddress: o.Servers}, KeyValidity: o.TTL}
	return adapter.Loaded(adapter.Abilities{"lease": false, "notifies": true, "several": true}, "github.com/redis/rueidis"), nil
}

// Acquire connects first: the library does so only when a locker is made.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	for l.locker == nil {
		locker, err := rueidislock.NewLocker(l.options)
		if err == nil {
			l.locker = locker
			break
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(again):
		}
	}
	// The grant's context is made from the one that WithContext is given, and must outlive the wait.
	base, forget := context.WithCancel(context.Background())
	inTime := context.AfterFunc(ctx, forget)
	held, cancel, err := l.locker.WithContext(base, key)
	if err == nil && inTime() {
		g := &grant{held, cancel, forget, make(chan struct{})}
		l.held[key] = g
		go l.program.LostAt(key, g.ctx.Done(), g.done)
		return &adapter.Grant{}, nil
	}
	if err == nil {
		cancel() // the wait ended with the grant
	}
	forget()
	if ctx.Err() != nil {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
}

func (l *lock) Release(key string) (bool, error) {
	g := l.held[key]
	if g == nil {
		return false, nil
	}
	delete(l.held, key)
	close(g.done)
	g.cancel()
	g.forget()
	return true, nil
}

func main() {
	adapter.Serve(func(p *adapter.Program) adapter.Lock { return &lock{program: p} })
}
