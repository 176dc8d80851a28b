package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func zookeeperInfo() clients.Info {
	return clients.Info{
		Name:     "zookeeper",
		About:    "ZooKeeper: the ephemeral sequential node recipe, each waiter watching the one before it",
		Cluster:  "zookeeper",
		Fencing:  true,
		Confirms: true, // a node that could be deleted was there until then
		MinTTL:   400 * time.Millisecond,
		Inspect:  lookZooKeeper,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			if len(o.Servers) == 0 {
				return nil, errors.New("zookeeper: no servers given")
			}
			return &zkLock{options: o}, nil
		},
		Sequencer: openZKSequencer,
	}
}

// zkLock is the recipe of
// https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks. A grant
// lasts as long as its session. No lease is claimed: a ping is answered by the
// server that the client is connected to, and the answer does not prove that the
// leader, which expires sessions, has received it in time.
type zkLock struct {
	options clients.Options
	herd    bool           // see zookeeper-parent
	group   sync.WaitGroup // sessions being given up

	mu      sync.Mutex
	current *zkSession
}

// zkGrant is a grant's Ref.
type zkGrant struct {
	session *zkSession
	node    string
}

// errGone: the service answers that the client's node is not there.
var errGone = errors.New("the session's node is gone")

func (l *zkLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for {
		s, err := l.session(ctx)
		if err == nil {
			var g clients.Grant
			if g, err = s.acquire(ctx, key); err == nil {
				return g, nil
			}
			if errors.Is(err, clients.ErrUnknown) || errors.Is(err, errGone) {
				l.giveUp(s)
			}
		}
		if errors.Is(err, clients.ErrUnknown) {
			return clients.Grant{}, fmt.Errorf("zookeeper: acquire %s: %w", key, err)
		}
		if ctx.Err() == nil {
			last = err
		}
		if !adapter.Pause(ctx, l.options.TTL/10) {
			return clients.Grant{}, adapter.Timeout(ctx, "zookeeper", key, last)
		}
	}
}

// acquire queues up and waits. An error is definite unless it wraps ErrUnknown:
// the node in the queue is then certainly gone.
func (s *zkSession) acquire(ctx context.Context, key string) (clients.Grant, error) {
	root := "/picklock/" + key
	own, err := s.enqueue(ctx, root)
	if err != nil {
		return clients.Grant{}, err
	}
	g, err := s.await(ctx, root, own)
	if err != nil && !errors.Is(err, errGone) {
		// ctx has ended; the clean-up has a little time of its own.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(max(s.ttl/2, 250*time.Millisecond), time.Second))
		defer cancel()
		if derr := s.delete(grace, own); derr != nil && !errors.Is(derr, zk.ErrNoNode) {
			return clients.Grant{}, fmt.Errorf("%w: still queued: %w: %w", clients.ErrUnknown, err, derr)
		}
	}
	g.Key = key
	return g, err
}

// await waits until own is the first in the queue.
func (s *zkSession) await(ctx context.Context, root, own string) (clients.Grant, error) {
	for {
		nodes, err := s.children(ctx, root)
		slices.SortFunc(nodes, func(a, b string) int { return cmp.Compare(sequence(a), sequence(b)) })
		i := slices.Index(nodes, path.Base(own))
		switch {
		case s.gone(), err == nil && i < 0:
			return clients.Grant{}, errGone
		case err == nil && i == 0:
			stat, serr := s.stat(ctx, own)
			if serr == nil && !s.gone() {
				return clients.Grant{Token: stat.Czxid, Lost: s.lost, Ref: zkGrant{s, own}}, nil
			}
			err = serr
		case err == nil:
			err = s.awaitTurn(ctx, root, nodes[i-1])
		}
		if errors.Is(err, zk.ErrNoNode) {
			return clients.Grant{}, errGone
		}
		if ctx.Err() != nil || err != nil && !adapter.Pause(ctx, s.ttl/10) {
			return clients.Grant{}, ctx.Err()
		}
	}
}

// sequence is the number that the server put at a node's end.
func sequence(node string) string { return node[strings.LastIndexByte(node, '-')+1:] }

func (l *zkLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(zkGrant)
	if ref.session.gone() {
		return fmt.Errorf("zookeeper: release %s: session expired: %w", g.Key, clients.ErrNotHeld)
	}
	switch err := ref.session.delete(ctx, ref.node); {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("zookeeper: release %s: %w", g.Key, clients.ErrNotHeld)
	default:
		l.giveUp(ref.session) // or the node would stay for as long as the process
		return fmt.Errorf("zookeeper: release %s: %w: %w", g.Key, clients.ErrUnknown, err)
	}
}
