package clients

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
)

// What the libraries do when nothing is broken, and whether what they say of an
// outcome is passed on as it is. How they break is seen in the runs.
func TestLibraryContract(t *testing.T) {
	one := func(t testing.TB) []*server { return startRedis(t, 1) }
	five := func(t testing.TB) []*server { return startRedis(t, 5) }
	tests := []struct {
		underTest
		without string // what the library cannot do, or the test cannot do to it
	}{
		{underTest{name: "redsync", ttl: time.Second, start: five, cut: "definite"}, "cut"}, // go-redis as shipped goes on trying for longer
		{underTest{name: "redislock", ttl: time.Second, start: one, cut: "unknown"}, "cut"},
		{underTest{name: "rueidislock", ttl: time.Second, start: one, session: true}, "loss cut"},             // see TestRueidislockLoss
		{underTest{name: "zk-lock", ttl: time.Second, start: startZooKeeper, session: true}, "vain loss cut"}, // it cannot give its place in the line back, and never tells of a loss
		{underTest{name: "redis-sentinel", ttl: time.Second, start: startSentinels}, "loss cut"},              // the sentinels tell of servers that the test cannot cut off
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			testContract(t, tc.underTest, tc.without)
		})
	}
}

// testContract runs the tests of contract_test.go but for those named in without.
func testContract(t *testing.T, u underTest, without string) {
	servers := u.start(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, underTest, []*server)
	}{
		{"exclusion", testExclusion}, {"loss", testLoss}, {"since", testSince},
		{"vain", testTimeout}, {"cut", testCut}, {"kill", testKill},
	} {
		if !strings.Contains(without, part.name) {
			t.Run(part.name, func(t *testing.T) { part.test(t, u, servers) })
		}
	}
}

// TestRueidislockLoss: the library cancels the context of a holder that is cut off.
func TestRueidislockLoss(t *testing.T) {
	t.Parallel()
	testToldLoss(t, underTest{name: "rueidislock", ttl: time.Second}, startRedis(t, 1))
}

// testToldLoss: a holder that is cut off is told of its loss by its library, whatever
// that says of the release, and the client is of use again afterwards.
func testToldLoss(t *testing.T, u underTest, servers []*server) {
	ctx := within(t, 90*time.Second)
	ways := newLinks(t, servers)
	a := open(t, u.name, "a", ways.addrs(), u.ttl)
	b := open(t, u.name, "b", addrs(servers), u.ttl)
	g, err := a.Acquire(ctx, "told")
	if err != nil {
		t.Fatal(err)
	}
	ways.cut()
	g2, err := b.Acquire(ctx, "told")
	if err != nil {
		t.Fatalf("after the holder was cut off: %v", err)
	}
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Fatal("the grant is gone and Lost never closed")
	}
	ways.healed()
	_ = a.Release(ctx, g)
	if err := b.Release(ctx, g2); err != nil {
		t.Errorf("release by the holder: %v", err)
	}
	if _, err := a.Acquire(ctx, "told"); err != nil {
		t.Errorf("acquire after a loss: %v", err)
	}
}

// startSentinels starts a master, two replicas and three sentinels, in this order,
// and waits until they know each other.
func startSentinels(t testing.TB) []*server {
	bin := need(t, "redis-server", "redis-server")
	servers := startRedis(t, 1)
	master := strings.Replace(servers[0].addr, ":", " ", 1)
	for range 2 {
		port := freePort(t)
		servers = append(servers, start(t, port, exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
			"--replicaof", "127.0.0.1", strings.Fields(master)[1])))
	}
	var sentinels []*server
	for range 3 {
		port := freePort(t)
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("sentinel monitor mymaster %s 2\nsentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n", master)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sentinels = append(sentinels, start(t, port, exec.Command(bin, file, "--sentinel", "--port", port, "--bind", "127.0.0.1")))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for _, s := range sentinels {
		for !knowsAll(ctx, s.addr) {
			if !pause(ctx, 25*time.Millisecond) {
				t.Fatal("the sentinels never got to know each other")
			}
		}
	}
	return append(servers, sentinels...)
}

func knowsAll(ctx context.Context, sentinel string) bool {
	c := redis.NewClient(&redis.Options{Addr: sentinel})
	defer c.Close()
	text, err := c.Info(ctx, "sentinel").Result()
	return err == nil && strings.Contains(text, "slaves=2,sentinels=3")
}

// TestSentinelFailover: the master is killed under a holder. Its successor knows
// nothing of a grant that it was not told of, and of one that it was it does.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	servers := startSentinels(t)
	ctx := within(t, 60*time.Second)
	a := open(t, "redis-sentinel", "a", addrs(servers), 20*time.Second)
	b := open(t, "redis-sentinel", "b", addrs(servers), 20*time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers[1:3] {
		for has, err := lookRedis(ctx, s.addr, "k"); err != nil || has != 1; has, err = lookRedis(ctx, s.addr, "k") {
			if !pause(ctx, 2*time.Millisecond) {
				t.Fatal("the grant never reached the replicas")
			}
		}
	}
	servers[0].kill()
	short, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	if _, err := b.Acquire(short, "k"); err == nil || errors.Is(err, ErrUnknown) {
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
