package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "zookeeper", Clean: clean, CleanAll: cleanAll, Names: names}
}

// dial connects to a server; where it asks who comes, the client says it as soon as it has a
// session.
func dial(ctx context.Context, o clients.Options, network, addr string, within time.Duration) (net.Conn, error) {
	username, password, err := o.Login()
	if err != nil {
		return nil, err
	}
	c, err := o.Dial(ctx, network, addr, within)
	if err != nil || username == "" {
		return c, err
	}
	return &saslConn{Conn: c, username: username, password: password}, nil
}

// clean removes the nodes of all locks, and their parent where nobody else has any there.
func clean(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	o.TTL = max(o.TTL, 5*time.Second)
	s, err := newZKSession(o, false)
	if err != nil {
		return 0, err
	}
	defer s.close()
	fail := func(err error) (int, error) {
		return n, fmt.Errorf("zookeeper: remove the nodes with %s: %w", mark, err)
	}
	locks, err := s.syncedChildren(ctx, "/picklock")
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return fail(err)
	}
	for _, lock := range locks {
		if !strings.HasPrefix(lock, mark) {
			continue
		}
		root := "/picklock/" + lock
		line, err := s.children(ctx, root)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return fail(err)
		}
		for _, node := range line {
			if err := s.delete(ctx, root+"/"+node); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return fail(err)
			}
			n++
		}
		// Where somebody has queued meanwhile, the next look finds him.
		if err := s.delete(ctx, root); err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) {
			return fail(err)
		}
		n++
	}
	if err := s.delete(ctx, "/picklock"); err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) {
		return fail(err)
	}
	return n, nil
}
