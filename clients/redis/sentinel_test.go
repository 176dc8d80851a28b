package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/clients/internal/servers"
)

// startSentinels starts a master, two replicas and three sentinels, in this order,
// and waits until they know each other.
func startSentinels(t testing.TB) []*contract.Server {
	bin := servers.Need(t, "redis-server", "redis-server")
	nodes := servers.Redis(t, 1)
	master := strings.Replace(nodes[0].Addr, ":", " ", 1)
	for range 2 {
		port := servers.FreePort(t)
		nodes = append(nodes, servers.Start(t, port, exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
			"--replicaof", "127.0.0.1", strings.Fields(master)[1])))
	}
	var sentinels []*contract.Server
	for range 3 {
		port := servers.FreePort(t)
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("sentinel monitor mymaster %s 2\nsentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n", master)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sentinels = append(sentinels, servers.Start(t, port, exec.Command(bin, file, "--sentinel", "--port", port, "--bind", "127.0.0.1")))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for _, s := range sentinels {
		for !knowsAll(ctx, s.Addr) {
			if !adapter.Pause(ctx, 25*time.Millisecond) {
				t.Fatal("the sentinels never got to know each other")
			}
		}
	}
	return append(nodes, sentinels...)
}

func knowsAll(ctx context.Context, sentinel string) bool {
	c := redis.NewClient(&redis.Options{Addr: sentinel})
	defer c.Close()
	text, err := c.Info(ctx, "sentinel").Result()
	return err == nil && strings.Contains(text, "slaves=2,sentinels=3")
}

// TestSentinelFailover: a kill hits the master under a holder. Its successor knows a grant that
// was replicated, and no other.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	servers := startSentinels(t)
	ctx := contract.Within(t, 60*time.Second)
	a := contract.Open(t, named("redis-sentinel"), "a", contract.Addrs(servers), 20*time.Second)
	b := contract.Open(t, named("redis-sentinel"), "b", contract.Addrs(servers), 20*time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers[1:3] {
		for has, err := lookRedis(ctx, clients.Options{Servers: []string{s.Addr}}, "k"); err != nil || has != 1; has, err = lookRedis(ctx, clients.Options{Servers: []string{s.Addr}}, "k") {
			if !adapter.Pause(ctx, 2*time.Millisecond) {
				t.Fatal("the grant never reached the replicas")
			}
		}
	}
	servers[0].Kill()
	short, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	if _, err := b.Acquire(short, "k"); err == nil || errors.Is(err, clients.ErrUnknown) {
		t.Errorf("acquire of a lock that the successor knows to be held: %v; want a definite failure", err)
	}
	if err := a.Release(ctx, g); err != nil {
		t.Errorf("release at the successor: %v", err)
	}
	g2, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if g2.Token <= g.Token {
		t.Errorf("token %d after %d, which the successor knew", g2.Token, g.Token)
	}
}
