package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
)

// zkSequencer asks ZooKeeper who is first in the line, after a sync: without one, a
// server that lags behind would answer with a state in which the holder's node is still there.
type zkSequencer struct{ lock *zkLock }

func openZKSequencer(_ context.Context, o clients.Options) (clients.Sequencer, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("zookeeper: no servers given")
	}
	return zkSequencer{&zkLock{options: o}}, nil
}

func (q zkSequencer) Valid(ctx context.Context, key string, token int64) (bool, error) {
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("zookeeper: who holds %s: %w", key, err)
	}
	s, err := q.lock.session(ctx)
	if err != nil {
		return fail(err)
	}
	root := "/picklock/" + key
	nodes, err := s.syncedChildren(ctx, root)
	if errors.Is(err, zk.ErrNoNode) || err == nil && len(nodes) == 0 {
		return false, nil
	}
	if err != nil {
		return fail(err)
	}
	first := slices.MinFunc(nodes, func(a, b string) int { return cmp.Compare(sequence(a), sequence(b)) })
	stat, err := s.stat(ctx, root+"/"+first)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil // the holder of a moment ago no longer holds it
	}
	if err != nil {
		return fail(err)
	}
	return stat.Czxid == token, nil
}

func (q zkSequencer) Close() error { return q.lock.Close() }
