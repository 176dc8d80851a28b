package redis

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/history"
)

// TestRedisDialFailure: what was never sent is tried again, and certainly failed.
func TestRedisDialFailure(t *testing.T) {
	t.Parallel()
	port := servers.FreePort(t)
	l := contract.Open(t, named("redis"), "c1", []string{"127.0.0.1:" + port}, time.Second)
	_, err := l.Acquire(contract.Within(t, 200*time.Millisecond), "k")
	var refused *net.OpError
	if err == nil || errors.Is(err, clients.ErrUnknown) || !errors.As(err, &refused) {
		t.Errorf("no server: %v; want a definite failure with that reason", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Acquire(contract.Within(t, 30*time.Second), "k")
		done <- err
	}()
	servers.Start(t, port, exec.Command(servers.Need(t, "redis-server", "redis-server"), "--port", port, "--save", "", "--dir", t.TempDir()))
	if err := <-done; err != nil {
		t.Errorf("the server came up: %v", err)
	}
}

// TestRedisServerRefusal: an error that the server itself returned is definite.
func TestRedisServerRefusal(t *testing.T) {
	t.Parallel()
	servers := servers.Redis(t, 2)
	replica := servers[1].Addr
	l := contract.Open(t, named("redis"), "c1", []string{replica}, time.Second).(askedRedis)
	ctx := contract.Within(t, 30*time.Second)
	host, port, _ := net.SplitHostPort(servers[0].Addr)
	if _, _, err := l.do(ctx, "REPLICAOF", "REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	_, err := l.Acquire(contract.Within(t, 200*time.Millisecond), "k")
	if err == nil || errors.Is(err, clients.ErrUnknown) || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("a replica: %v; want a definite failure with READONLY", err)
	}
}

func TestRedlockMajority(t *testing.T) {
	t.Parallel()
	servers := servers.Redis(t, 5)
	const ttl = 5 * time.Second
	l := contract.Open(t, named("redlock"), "c1", contract.Addrs(servers), ttl).(*redlock)
	ctx := contract.Within(t, 60*time.Second)
	for _, s := range servers[:2] {
		s.Kill()
	}
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatalf("three of five: %v", err)
	}
	// The promise on the raw clock must not outlast the library's on Go's.
	left := time.Until(g.Ref.(*redsync.Mutex).Until())
	until := history.Now() + int64(left)
	if end := g.Since + int64(g.Lease); end > until || end < until-int64(ttl/5) {
		t.Errorf("lease ends %v before the library's until", time.Duration(until-end))
	}
	g2, err := l.Renew(ctx, g)
	if err != nil || g2.Since <= g.Since {
		t.Errorf("renewed: %+v, %v; want a later since than %d", g2, err, g.Since)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Errorf("released on three of five: %v", err)
	}
	if g, err = l.Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	servers[2].Kill()
	if err := l.Release(ctx, g); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("released on two of five: %v; want ErrUnknown", err)
	}
	if _, err := l.Acquire(contract.Within(t, 300*time.Millisecond), "k"); err == nil || errors.Is(err, clients.ErrUnknown) {
		t.Errorf("acquire on two of five: %v; want a definite failure", err)
	}
}

// TestOwnRedlockTakesAll: one server that cannot be reached keeps no key on the others. A release
// that a majority has carried out is certain.
func TestOwnRedlockTakesAll(t *testing.T) {
	t.Parallel()
	all := servers.Redis(t, 5)
	const ttl = 60 * time.Second // no key goes by itself within this test
	l := contract.Open(t, named("redlock-nocheck"), "c1", contract.Addrs(all), ttl).(*ownRedlock)
	ctx := contract.Within(t, 50*time.Second)
	all[0].Kill()
	for n := range 10 {
		key := fmt.Sprintf("k%d", n)
		g, err := l.Acquire(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(ctx, g); err != nil {
			t.Errorf("released on four of five: %v", err)
		}
		for _, s := range all[1:] {
			one := contract.Open(t, named("redis"), "c2", []string{s.Addr}, ttl)
			g, err := one.Acquire(ctx, key)
			if err != nil {
				t.Fatalf("%s still has %s: %v", s.Addr, key, err)
			}
			if err := one.Release(ctx, g); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDenials(t *testing.T) {
	taken := func(n int) error { return &redsync.ErrNodeTaken{Node: n} }
	broken := &redsync.RedisError{Node: 1, Err: errors.New("i/o timeout")}
	tests := map[string]struct {
		err  error
		want int
	}{
		"none":    {nil, 0},
		"broken":  {broken, 0},
		"taken":   {errors.Join(errors.Join(nil, taken(0)), taken(3)), 2},
		"expired": {errors.Join(errors.Join(taken(1), redsync.ErrLockAlreadyExpired), broken), 2},
		"all":     {&redsync.ErrTaken{Nodes: []int{1, 2, 4}}, 3},
	}
	for name, tc := range tests {
		if got := denials(tc.err); got != tc.want {
			t.Errorf("%s: %d denials, want %d", name, got, tc.want)
		}
	}
}

// TestRedisSemaphoreNaive: a client whose clock is behind, if only by the time that its request
// took longer, is granted a permit that another holds.
func TestRedisSemaphoreNaive(t *testing.T) {
	t.Parallel()
	ctx := contract.Within(t, 30*time.Second)
	l := contract.Open(t, named("redis-semaphore-naive"), "c1", contract.Addrs(servers.Redis(t, 1)), time.Second).(redisSemaphoreNaive)
	g, err := l.Acquire(ctx, "naive")
	if err != nil {
		t.Fatal(err)
	}
	if !contract.Refused(t, l.Acquire, "naive") {
		t.Error("the one permit was granted twice")
	}
	now := time.Now().UnixMicro()
	for _, c := range []struct {
		member string
		at     int64
		rank   int64
	}{{"later", now, 1}, {"earlier", now - 900_000, 0}} {
		v, _, err := l.lock.do(ctx, c.member, "EVAL", redisNaiveTake, 1, "naive", c.member, c.at, int64(1e6))
		if err != nil || v != c.rank {
			t.Errorf("%s: rank %v, %v; want %d", c.member, v, err, c.rank)
		}
	}
	if err := l.Release(ctx, g); err != nil {
		t.Error(err)
	}
	if err := l.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
}
