package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// lookWithin bounds one look at a server.
const lookWithin = 2 * time.Second

// lookRedis counts the key itself, in plain words on a connection of its own: a
// stopped server must cost one look, not a client library's state.
func lookRedis(ctx context.Context, server, key string) (int, error) {
	reply, err := redisWord(ctx, server, "EXISTS", key)
	if err != nil {
		return 0, err
	}
	if reply == ":1" {
		return 1, nil
	}
	return 0, nil
}

// redisWord sends one command and returns the first line of its reply.
func redisWord(ctx context.Context, server string, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := conn.Write([]byte(b.String())); err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	return strings.TrimSpace(line), nil
}

// lookEtcd counts the keys in the mutex's line.
func lookEtcd(ctx context.Context, server, key string) (int, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server}, Logger: zap.NewNop()})
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	r, err := c.Get(ctx, "/picklock/"+key+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	return int(r.Count), nil
}

// lookZooKeeper counts the nodes in the lock's line, as this server knows them.
func lookZooKeeper(ctx context.Context, server, key string) (int, error) {
	conn, events, err := zk.Connect([]string{server}, lookWithin, zk.WithLogInfo(false), zk.WithLogger(noLog{}))
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
	t := time.NewTimer(lookWithin)
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
