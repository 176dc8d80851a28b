package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// lookZooKeeper counts the nodes in the lock's line, as this server knows them.
func lookZooKeeper(ctx context.Context, o clients.Options, key string) (int, error) {
	server := o.Servers[0]
	connect := func(network, addr string, within time.Duration) (net.Conn, error) {
		return o.Dial(ctx, network, addr, within)
	}
	conn, events, err := zk.Connect([]string{server}, adapter.InspectWithin, zk.WithDialer(connect), zk.WithLogInfo(false), zk.WithLogger(noLog{}))
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	defer func() {
		conn.Close()
		for range events {
		}
	}()
	type answer struct {
		n   int
		err error
	}
	c := make(chan answer, 1)
	go func() {
		nodes, _, err := conn.Children("/picklock/" + key)
		c <- answer{len(nodes), err}
	}()
	t := time.NewTimer(adapter.InspectWithin)
	defer t.Stop()
	select {
	case a := <-c:
		if errors.Is(a.err, zk.ErrNoNode) {
			return 0, nil
		}
		return a.n, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.C:
		return 0, fmt.Errorf("look at %s: no answer", server)
	}
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}
