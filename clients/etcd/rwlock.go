package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func etcdRwlockInfo() clients.Info {
	return clients.Info{
		Name:      "etcd-rwlock",
		About:     "etcd: RWMutex of the v3 client's recipes, on a session kept alive by the library; the recipe itself does not report a loss",
		Cluster:   "etcd",
		Module:    "go.etcd.io/etcd/client/v3",
		Kind:      clients.ReadWrite,
		Confirms:  true, // as etcd
		MinTTL:    time.Second,
		LeaseUnit: time.Second,
		Inspect:   lookEtcd,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			l, err := openEtcd(o, 0)
			if err != nil {
				return nil, err
			}
			return etcdRWLock{l}, nil
		},
	}
}

// etcdRWLock has no token, because the recipe does not export its key. To give up a wait takes
// the end of its session, which is therefore revoked.
type etcdRWLock struct{ *etcdLock }

// etcdRWGrant is a grant's Ref.
type etcdRWGrant struct {
	unlock  func() error
	session *etcdSession
}

func (l etcdRWLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.wait(ctx, key, (*recipe.RWMutex).Lock, (*recipe.RWMutex).Unlock)
}

// AcquireShared implements Sharer.
func (l etcdRWLock) AcquireShared(ctx context.Context, key string) (clients.Grant, error) {
	return l.wait(ctx, key, (*recipe.RWMutex).RLock, (*recipe.RWMutex).RUnlock)
}

func (l etcdRWLock) wait(ctx context.Context, key string, lock, unlock func(*recipe.RWMutex) error) (clients.Grant, error) {
	var last error
	for {
		s, err := l.session(ctx)
		if err == nil {
			m := recipe.NewRWMutex(s.Session, "/picklock/"+key)
			if err = l.once(ctx, s, m, lock); err == nil {
				r, renewals := s.watch.listen()
				return clients.Grant{Key: key, Since: r.Since, Lease: r.Lease, Lost: s.lost, Renewals: renewals,
					Ref: etcdRWGrant{func() error { return unlock(m) }, s}}, nil
			}
		}
		if errors.Is(err, clients.ErrUnknown) {
			return clients.Grant{}, fmt.Errorf("etcd-rwlock: acquire %s: %w", key, err)
		}
		if ctx.Err() == nil {
			last = err
		}
		if !adapter.Pause(ctx, l.options.TTL/10) {
			return clients.Grant{}, adapter.Timeout(ctx, "etcd-rwlock", key, last)
		}
	}
}

// once lets the recipe wait until it has the lock, ctx ends or the session does. The end of the
// session's lease removes what the recipe left behind: an error is definite if etcd answers that
// the lease is gone.
func (l etcdRWLock) once(ctx context.Context, s *etcdSession, m *recipe.RWMutex, lock func(*recipe.RWMutex) error) error {
	done := make(chan error, 1)
	l.group.Go(func() { done <- lock(m) })
	var err error
	select {
	case err = <-done:
		if err == nil && !s.ended() {
			return nil
		}
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.lost:
	}
	if err == nil { // the session is over, and may have been when the recipe returned
		err = concurrency.ErrSessionExpired
	}
	defer l.giveUp(s, false) // ends the recipe's wait
	s.Orphan()
	rctx, cancel := context.WithTimeout(s.client.Ctx(), min(max(l.options.TTL/2, 250*time.Millisecond), time.Second))
	defer cancel()
	if _, rerr := s.client.Revoke(rctx, s.Lease()); rerr != nil && !errors.Is(rerr, rpctypes.ErrLeaseNotFound) {
		return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	return err
}

// Release unlocks; the recipe does not check whether the key was there.
func (l etcdRWLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(etcdRWGrant)
	ref.session.watch.forgetDeleted()
	done := make(chan error, 1)
	l.group.Go(func() { done <- ref.unlock() })
	var err error
	select {
	case err = <-done:
	case <-ctx.Done(): // which the recipe does not know
		err = ctx.Err()
	}
	switch {
	case err != nil:
		l.giveUp(ref.session, true)
		return fmt.Errorf("etcd-rwlock: release %s: %w: %w", g.Key, clients.ErrUnknown, err)
	case ref.session.watch.forgetDeleted() == 0:
		l.giveUp(ref.session, false)
		return fmt.Errorf("etcd-rwlock: release %s: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}
