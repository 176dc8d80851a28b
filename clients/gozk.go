package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

func init() {
	register(Info{
		Name:     "gozk",
		About:    "ZooKeeper: the zk.Lock that comes with github.com/go-zookeeper/zk, which gives no token",
		Cluster:  "zookeeper",
		Confirms: true, // a node that could be deleted was there until then
		MinTTL:   400 * time.Millisecond,
		Look:     lookZooKeeper,
		Open: func(_ context.Context, o Options) (Lock, error) {
			if len(o.Servers) == 0 {
				return nil, errors.New("gozk: no servers given")
			}
			return &goZK{zkLock{options: o}}, nil
		},
	})
}

// goZK uses the library's recipe on a session of ours, so that its end is known.
// The recipe cannot be told to give up: a wait that ends takes its session along.
type goZK struct{ zkLock }

type goZKGrant struct {
	session *zkSession
	lock    *zk.Lock
}

func (l *goZK) Acquire(ctx context.Context, key string) (Grant, error) {
	var last error
	left := false // a node in the line that only its session's end takes away
	for {
		s, err := l.session(ctx)
		if err == nil {
			lock := zk.NewLock(s.conn, "/picklock/"+key, zk.WorldACL(zk.PermAll))
			l.options.waiting() // in line soon: the library does not say when
			_, err = zkDo(ctx, s, func() (any, error) { return nil, lock.Lock() })
			switch {
			case err == nil && !s.gone():
				return Grant{Key: key, Lost: s.lost, Ref: goZKGrant{s, lock}}, nil
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
		if !pause(ctx, l.options.TTL/10) {
			err := timeout(ctx, "gozk", key, last)
			if left {
				err = fmt.Errorf("%w: %w", ErrUnknown, err)
			}
			return Grant{}, err
		}
	}
}

func (l *goZK) Release(ctx context.Context, g Grant) error {
	ref := g.Ref.(goZKGrant)
	if ref.session.gone() {
		return fmt.Errorf("gozk: release %s: session expired: %w", g.Key, ErrNotHeld)
	}
	_, err := zkDo(ctx, ref.session, func() (any, error) { return nil, ref.lock.Unlock() })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotLocked):
		return fmt.Errorf("gozk: release %s: %w", g.Key, ErrNotHeld)
	}
	l.giveUp(ref.session)
	return fmt.Errorf("gozk: release %s: %w: %w", g.Key, ErrUnknown, err)
}
