package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func etcdInfo() clients.Info {
	return clients.Info{
		Name:      "etcd",
		About:     "etcd: concurrency.Mutex of the v3 client, on a session kept alive by the library",
		Cluster:   "etcd",
		Module:    "go.etcd.io/etcd/client/v3",
		Fencing:   true,
		Holds:     true,
		Notifies:  true, // https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency#Session.Done
		Confirms:  true, // the unlock's answer says whether the grant's own key was still there
		MinTTL:    time.Second,
		LeaseUnit: time.Second,
		Inspect:   lookEtcd,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			l, err := openEtcd(o, 0)
			if err != nil {
				return nil, err
			}
			return askedEtcd{l}, nil
		},
		Sequencer: openEtcdSequencer,
	}
}

func openEtcd(o clients.Options, delay time.Duration) (*etcdLock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("etcd: no servers given")
	}
	return &etcdLock{options: o, delay: delay}, nil
}

// etcdLock uses one session, as the library means it to be used, until that is
// lost or an outcome is unknown. A mutex of the same session would find the key
// that an unknown acquire left behind, and take it, with its old token, for a
// new grant; so the session is given up then.
type etcdLock struct {
	options clients.Options
	delay   time.Duration  // see etcd-lock-delay
	group   sync.WaitGroup // sessions being given up

	mu      sync.Mutex
	current *etcdSession
}

// etcdGrant is a grant's Ref.
type etcdGrant struct {
	mutex   *concurrency.Mutex
	session *etcdSession
}

func (l *etcdLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for {
		s, err := l.session(ctx)
		if err == nil {
			var g clients.Grant
			if g, err = l.lock(ctx, s, key); err == nil {
				return g, nil
			}
		}
		if errors.Is(err, clients.ErrUnknown) {
			return clients.Grant{}, fmt.Errorf("etcd: acquire %s: %w", key, err)
		}
		if ctx.Err() == nil {
			last = err
		}
		if !adapter.Pause(ctx, l.options.TTL/10) {
			return clients.Grant{}, adapter.Timeout(ctx, "etcd", key, last)
		}
	}
}

// lock acquires the mutex or fails, for certain unless the error wraps ErrUnknown.
func (l *etcdLock) lock(ctx context.Context, s *etcdSession, key string) (clients.Grant, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.Ctx(), cancel)() // do not queue without a session
	m := concurrency.NewMutex(s.Session, "/picklock/"+key)
	done := make(chan error, 1)
	l.group.Go(func() { done <- m.Lock(ctx) })
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		grace := time.AfterFunc(min(max(l.options.TTL/2, 250*time.Millisecond), time.Second), func() { s.client.Close() })
		err = <-done
		grace.Stop()
	}
	if err == nil {
		// The key's CreateRevision: the header's revision may be a later one.
		owner := m.IsOwner()
		r, renewals := s.watch.listen()
		return clients.Grant{Key: key, Token: owner.GetCompare().GetCreateRevision(), Since: r.Since, Lease: r.Lease,
			Lost: s.lost, Renewals: renewals, Ref: etcdGrant{m, s}}, nil
	}
	switch {
	case m.Key() == "\x00": // the library's mark of a key that it deleted
		return clients.Grant{}, err
	case errors.Is(err, concurrency.ErrSessionExpired), errors.Is(err, rpctypes.ErrLeaseNotFound):
		l.giveUp(s, false) // the service answers that the key is gone or never was there
		return clients.Grant{}, err
	}
	l.giveUp(s, true)
	return clients.Grant{}, fmt.Errorf("%w: %w", clients.ErrUnknown, err)
}

// Release unlocks; the library does not look whether the key was there.
func (l *etcdLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(etcdGrant)
	key := ref.mutex.Key()
	if l.delay > 0 && ref.session.ended() {
		// The key is still there, and has to be: see etcd-lock-delay.
		return fmt.Errorf("etcd: release %s: the lease is over: %w", g.Key, clients.ErrNotHeld)
	}
	err := ref.mutex.Unlock(ctx)
	if errors.Is(err, concurrency.ErrLockReleased) { // its client had released it before
		return fmt.Errorf("etcd: release %s: %w: %w", g.Key, clients.ErrNotHeld, err)
	}
	if err != nil {
		l.giveUp(ref.session, true)
		return fmt.Errorf("etcd: release %s: %w: %w", g.Key, clients.ErrUnknown, err)
	}
	if ref.session.watch.takeDeleted(key) == 0 {
		l.giveUp(ref.session, false)
		return fmt.Errorf("etcd: release %s: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}

// askedEtcd is an etcdLock whose user compares the key before something important.
type askedEtcd struct{ *etcdLock }

// Holds asks the service by the library's own comparison, as its user does in the transaction of a
// write, unless the session's end says it already.
func (l askedEtcd) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	ref := g.Ref.(etcdGrant)
	if ref.session.ended() {
		return false, nil
	}
	answer, err := ref.session.client.Txn(ctx).If(ref.mutex.IsOwner()).Commit()
	if err != nil {
		return false, fmt.Errorf("etcd: ask for %s: %w", g.Key, err)
	}
	return answer.Succeeded, nil
}

// Close gives the session up and waits for those given up before, a second at most.
func (l *etcdLock) Close() error {
	l.mu.Lock()
	s := l.current
	l.mu.Unlock()
	if s != nil {
		l.giveUp(s, true)
	}
	l.group.Wait()
	return nil
}
