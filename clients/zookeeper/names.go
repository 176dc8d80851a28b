package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
)

// names are the nodes of the locks that may be a run's.
func names(ctx context.Context, o clients.Options) ([]string, error) {
	o.TTL = max(o.TTL, 5*time.Second)
	s, err := newZKSession(o, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	locks, err := s.syncedChildren(ctx, "/picklock")
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("zookeeper: look for the nodes of runs: %w", err)
	}
	return locks, nil
}

// cleanAll removes every node whose name contains mark, and those below it.
func cleanAll(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	o.TTL = max(o.TTL, 5*time.Second)
	s, err := newZKSession(o, false)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if _, err = s.syncedChildren(ctx, "/"); err == nil { // the walk sees what was written before it
		n, err = s.removeBelow(ctx, "", mark)
	}
	if err != nil {
		err = fmt.Errorf("zookeeper: remove the nodes with %s: %w", mark, err)
	}
	return n, err
}

// removeBelow removes what is below a node and has mark in its path. A node that is gone, or
// has got a child meanwhile, the next look finds as it is then.
func (s *zkSession) removeBelow(ctx context.Context, node, mark string) (n int, err error) {
	children, err := s.children(ctx, cmp.Or(node, "/"))
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, child := range children {
		path := node + "/" + child
		if path == "/zookeeper" {
			continue // the service's own
		}
		below, err := s.removeBelow(ctx, path, mark)
		n += below
		if err != nil {
			return n, err
		}
		if !strings.Contains(path, mark) {
			continue
		}
		switch err := s.delete(ctx, path); {
		case err == nil:
			n++
		case !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty):
			return n, err
		}
	}
	return n, nil
}
