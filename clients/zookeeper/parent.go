package zookeeper

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
)

func zkparentInfo() clients.Info {
	return clients.Info{
		Name:     "zookeeper-parent",
		About:    "ZooKeeper: the same recipe with every waiter watching the whole line: each release wakes them all",
		Cluster:  "zookeeper",
		Fencing:  true,
		Confirms: true,
		MinTTL:   400 * time.Millisecond,
		Naive:    true,
		Inspect:  lookZooKeeper,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			if len(o.Servers) == 0 {
				return nil, errors.New("zookeeper-parent: no servers given")
			}
			return &zkLock{options: o, herd: true}, nil
		},
		Sequencer: openZKSequencer,
	}
}

// awaitChange waits for any change in the line: the herd effect that
// https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks warns of.
func (s *zkSession) awaitChange(ctx context.Context, root, before string) error {
	type line struct {
		nodes []string
		event <-chan zk.Event
	}
	l, err := zkDo(ctx, s, func() (line, error) {
		nodes, _, event, err := s.conn.ChildrenW(root)
		return line{nodes, event}, err
	})
	if err != nil || !slices.Contains(l.nodes, before) {
		return err
	}
	s.options.TellWaiting()
	select {
	case e := <-l.event:
		if e.Type == zk.EventNodeChildrenChanged {
			s.options.TellWoken()
		}
	case <-s.lost:
	case <-ctx.Done():
	}
	return ctx.Err()
}
