package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func zkLockInfo() clients.Info {
	return clients.Info{
		Name:     "zk-lock",
		Aliases:  []string{"gozk"},
		About:    "ZooKeeper: zk.Lock of github.com/go-zookeeper/zk as shipped, on one zk.Conn, whose sessions come and go; it gives no token",
		Cluster:  "zookeeper",
		Module:   "github.com/go-zookeeper/zk",
		Confirms: true, // a node that could be deleted was there until then
		MinTTL:   400 * time.Millisecond,
		Inspect:  lookZooKeeper,
		Options: []clients.Option{{
			Name: "careful", Default: "no", Check: adapter.Checks(adapter.ParseSwitch), Safer: []string{"yes"},
			About: "give a grant up when its session ends, and a session, with all that it left, whenever zk.Lock returns an error",
		}},
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			if len(o.Servers) == 0 {
				return nil, errors.New("zk-lock: no servers given")
			}
			careful, err := adapter.Read(o, "careful", false, adapter.ParseSwitch)
			if err != nil {
				return nil, fmt.Errorf("zk-lock: %w", err)
			}
			if careful {
				return &carefulZK{zkLock{options: o}}, nil
			}
			return &shippedZK{zkLock{options: o}}, nil
		},
	}
}

// shippedZK uses the recipe as its documentation shows it: one connection for good, NewLock, Lock,
// Unlock. The recipe cannot give up: to end a wait takes the end of the connection.
type shippedZK struct{ zkLock }

// zkLockGrant is a grant's Ref.
type zkLockGrant struct {
	session *zkSession
	lock    *zk.Lock
}

func newZKRecipe(s *zkSession, key string) *zk.Lock {
	return zk.NewLock(s.conn, "/picklock/"+key, zk.WorldACL(zk.PermAll))
}

func (l *shippedZK) connection() (*zkSession, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		s, err := newZKSession(l.options, true)
		if err != nil {
			return nil, err
		}
		l.current = s
	}
	return l.current, nil
}

// Acquire returns an unknown outcome if Lock fails: the node that it made may still be in the
// line, and its turn may come.
func (l *shippedZK) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	s, err := l.connection()
	if err != nil {
		return clients.Grant{}, fmt.Errorf("zk-lock: acquire %s: %w", key, err)
	}
	lock := newZKRecipe(s, key)
	l.options.TellWaiting() // in line soon: the library does not report when
	if _, err = zkDo(ctx, s, func() (any, error) { return nil, lock.Lock() }); err == nil {
		return clients.Grant{Key: key, Ref: zkLockGrant{s, lock}}, nil
	}
	if ctx.Err() != nil {
		l.giveUp(s)
	}
	return clients.Grant{}, fmt.Errorf("zk-lock: acquire %s: %w: %w", key, clients.ErrUnknown, err)
}

func (l *shippedZK) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(zkLockGrant)
	_, err := zkDo(ctx, ref.session, func() (any, error) { return nil, ref.lock.Unlock() })
	return unlocked(g.Key, err)
}

// unlocked is what Unlock's error means for the grant.
func unlocked(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotLocked):
		return fmt.Errorf("zk-lock: release %s: %w", key, clients.ErrNotHeld)
	}
	return fmt.Errorf("zk-lock: release %s: %w: %w", key, clients.ErrUnknown, err)
}

// carefulZK uses the same recipe on one session after the other, so that the end of each is known.
type carefulZK struct{ zkLock }

func (l *carefulZK) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	left := false // a node in the line that only its session's end removes
	for {
		s, err := l.session(ctx)
		if err == nil {
			lock := newZKRecipe(s, key)
			l.options.TellWaiting() // in line soon: the library does not report when
			_, err = zkDo(ctx, s, func() (any, error) { return nil, lock.Lock() })
			switch {
			case err == nil && !s.gone():
				return clients.Grant{Key: key, Lost: s.lost, Ref: zkLockGrant{s, lock}}, nil
			case s.gone():
				err = errGone
			default:
				left = true
			}
			l.giveUp(s)
		}
		if ctx.Err() == nil {
			last = err
		}
		if !adapter.Pause(ctx, l.options.TTL/10) {
			err := adapter.Timeout(ctx, "zk-lock", key, last)
			if left {
				err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
			}
			return clients.Grant{}, err
		}
	}
}

func (l *carefulZK) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(zkLockGrant)
	if ref.session.gone() {
		return fmt.Errorf("zk-lock: release %s: session expired: %w", g.Key, clients.ErrNotHeld)
	}
	_, err := zkDo(ctx, ref.session, func() (any, error) { return nil, ref.lock.Unlock() })
	err = unlocked(g.Key, err)
	if errors.Is(err, clients.ErrUnknown) {
		l.giveUp(ref.session)
	}
	return err
}
