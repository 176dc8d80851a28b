package clients

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// underTest is one lock and the servers that it needs for the tests that all
// locks share.
type underTest struct {
	name  string
	ttl   time.Duration
	start func(testing.TB) []*server
	// session: bound to a session that the client library keeps up, so that a
	// loss is told on Grant.Lost; otherwise the lease just runs out.
	session bool
	// cut is what an acquire must end with when its request went out and the way
	// back is cut: "unknown", "definite", or "" where both are honest.
	cut string
	// lose, where the service does not notice that a client is cut off, ends what that
	// client holds in another way.
	lose func(t testing.TB, servers []*server)
}

var underTests = []underTest{
	{name: "redis", ttl: time.Second, start: func(t testing.TB) []*server { return startRedis(t, 1) }, cut: "unknown"},
	{name: "redlock", ttl: time.Second, cut: "definite", start: func(t testing.TB) []*server { return startRedis(t, 5) }},
	{name: "etcd", ttl: time.Second, start: startEtcd, session: true, cut: "unknown"},
	{name: "zookeeper", ttl: time.Second, start: startZooKeeper, session: true},
	{name: "postgres-session", ttl: time.Second, start: startPostgres, session: true, cut: "unknown", lose: terminate},
	{name: "postgres-xact", ttl: time.Second, start: startPostgres, session: true, lose: terminate},
	{name: "postgres-row", ttl: time.Second, start: startPostgres, session: true, lose: terminate},
	{name: "postgres-table", ttl: time.Second, start: startPostgres, cut: "unknown"},
	{name: "exec:python3 ../docs/examples/redis_lock.py", ttl: time.Second, cut: "unknown", start: func(t testing.TB) []*server { need(t, "python3", "python3"); return startRedis(t, 1) }},
}

func TestContract(t *testing.T) {
	for _, u := range underTests {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			servers := u.start(t)
			t.Run("mutual exclusion", func(t *testing.T) { testExclusion(t, u, servers) })
			t.Run("loss", func(t *testing.T) { testLoss(t, u, servers) })
			t.Run("since", func(t *testing.T) { testSince(t, u, servers) })
			t.Run("waiting in vain", func(t *testing.T) { testTimeout(t, u, servers) })
			t.Run("cut while waiting", func(t *testing.T) { testCut(t, u, servers) })
			t.Run("servers killed", func(t *testing.T) { testKill(t, u, servers) })
		})
	}
}

// testExclusion lets four clients fight over one key: never two inside, tokens
// rising with every grant, and nothing a lease can say ahead of its time.
func testExclusion(t *testing.T, u underTest, servers []*server) {
	info, _ := Builtin().Lookup(u.name)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var (
		inside    atomic.Int32
		grants    atomic.Int32
		lastToken int64 // guarded by the lock under test
		group     sync.WaitGroup
	)
	for n := range 4 {
		l := open(t, u.name, fmt.Sprint("c", n), addrs(servers), u.ttl)
		group.Go(func() {
			for range 10 {
				before := history.Now()
				g, err := l.Acquire(ctx, "exclusion")
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				after := history.Now()
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d holders at once", n)
				}
				if info.Fencing && g.Token <= lastToken {
					t.Errorf("token %d after %d", g.Token, lastToken)
				}
				lastToken = g.Token
				if (g.Since == 0) != (g.Lease == 0) || g.Since > after || info.Fencing != (g.Token != 0) {
					t.Errorf("grant %+v, now %d", g, after)
				}
				if !u.session && g.Since < before {
					t.Errorf("since %d before the acquire began at %d: not the tightest", g.Since, before)
				}
				grants.Add(1)
				inside.Add(-1)
				if err := l.Release(ctx, g); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	group.Wait()
	if grants.Load() != 40 {
		t.Errorf("%d grants, want 40", grants.Load())
	}
}

// testLoss takes the lock from a holder that is cut off, and asks what its
// client says afterwards.
func testLoss(t *testing.T, u underTest, servers []*server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	ways := newLinks(t, servers)
	a := open(t, u.name, "a", ways.addrs(), u.ttl)
	b := open(t, u.name, "b", addrs(servers), u.ttl)
	g, err := a.Acquire(ctx, "loss")
	if err != nil {
		t.Fatal(err)
	}
	ways.cut()
	if u.lose != nil {
		u.lose(t, servers)
	}
	g2, err := b.Acquire(ctx, "loss")
	if err != nil {
		t.Fatalf("after the holder was cut off: %v", err)
	}
	ways.healed()
	if u.session {
		select {
		case <-g.Lost:
		case <-ctx.Done():
			t.Fatal("the session is gone and Lost never closed")
		}
	}
	if err := a.Release(ctx, g); !errors.Is(err, ErrNotHeld) {
		t.Errorf("release by one who no longer holds: %v; want ErrNotHeld", err)
	}
	if r, ok := a.(Renewer); ok {
		if _, err := r.Renew(ctx, g); !errors.Is(err, ErrNotHeld) {
			t.Errorf("renew by one who no longer holds: %v; want ErrNotHeld", err)
		}
		if _, err := b.(Renewer).Renew(ctx, g2); err != nil {
			t.Errorf("renew by the holder: %v", err)
		}
	}
	if err := b.Release(ctx, g2); err != nil {
		t.Errorf("release by the holder: %v", err)
	}
	// The client that lost its grant is of use again.
	g3, err := a.Acquire(ctx, "loss")
	if err != nil {
		t.Fatalf("acquire after a loss: %v", err)
	}
	if info, _ := Builtin().Lookup(u.name); info.Fencing && g3.Token <= g2.Token {
		t.Errorf("token %d after %d", g3.Token, g2.Token)
	}
	if err := a.Release(ctx, g3); err != nil {
		t.Errorf("release: %v", err)
	}
}

// testSince lets a client wait: its lease begins with the request that was
// granted, not with the first that it sent.
func testSince(t *testing.T, u underTest, servers []*server) {
	if u.session {
		t.Skip("the lease is the session's, whoever waits")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	const ttl = 5 * time.Second
	a := open(t, u.name, "a", addrs(servers), ttl)
	b := open(t, u.name, "b", addrs(servers), ttl)
	g, err := a.Acquire(ctx, "since")
	if err != nil {
		t.Fatal(err)
	}
	var released int64
	var group sync.WaitGroup
	group.Go(func() {
		time.Sleep(time.Second) // time to wait for, not an event to await
		released = history.Now()
		if err := a.Release(ctx, g); err != nil {
			t.Error(err)
		}
	})
	g, err = b.Acquire(ctx, "since")
	group.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if late := time.Duration(released - g.Since); late > 500*time.Millisecond {
		t.Errorf("since lies %v before the lock became free", late)
	}
	if g.Lease > ttl || g.Lease < ttl*9/10 {
		t.Errorf("lease %v, asked for %v", g.Lease, ttl)
	}
	if err := b.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// testTimeout: whoever gave up waiting certainly holds nothing, then or later.
func testTimeout(t *testing.T, u underTest, servers []*server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	a := open(t, u.name, "a", addrs(servers), 10*time.Second)
	b := open(t, u.name, "b", addrs(servers), 10*time.Second)
	g, err := a.Acquire(ctx, "timeout")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		begin := time.Now()
		_, err = b.Acquire(short, "timeout")
		cancel()
		if err == nil || errors.Is(err, ErrUnknown) || time.Since(begin) < 250*time.Millisecond {
			t.Fatalf("acquire of a held lock: %v after %v; want a definite failure at the deadline", err, time.Since(begin))
		}
	}
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	// A ghost of b would keep a out for 10 s.
	begin := time.Now()
	g, err = a.Acquire(ctx, "timeout")
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("free lock granted after %v: somebody who gave up held it", d)
	}
	if err := a.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// testCut cuts a waiting client off: it must come back by its deadline or soon
// after, and must not hold the lock up for longer than its lease.
func testCut(t *testing.T, u underTest, servers []*server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	ways := newLinks(t, servers)
	a := open(t, u.name, "a", addrs(servers), u.ttl)
	b := open(t, u.name, "b", ways.addrs(), u.ttl)
	first, err := b.Acquire(ctx, "cut") // so that b is connected
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(ctx, first); err != nil {
		t.Fatal(err)
	}
	ways.cut()
	short, cancelShort := context.WithTimeout(ctx, 2*u.ttl)
	defer cancelShort()
	begin := time.Now()
	_, err = b.Acquire(short, "cut")
	if err == nil {
		t.Fatal("granted across a cut")
	}
	if d := time.Since(begin); d > 10*u.ttl {
		t.Errorf("came back after %v, asked to within %v", d, 2*u.ttl)
	}
	if unknown := errors.Is(err, ErrUnknown); unknown && u.cut == "definite" || !unknown && u.cut == "unknown" {
		t.Errorf("cut off: %v; want the outcome to be %s", err, u.cut)
	}
	ways.healed()
	g, err := a.Acquire(ctx, "cut")
	if err != nil {
		t.Fatalf("acquire after another was cut off: %v", err)
	}
	if err := a.Release(ctx, g); err != nil {
		t.Error(err)
	}
	g, err = b.Acquire(ctx, "cut")
	if err != nil {
		t.Fatalf("acquire after the cut: %v", err)
	}
	if info, _ := Builtin().Lookup(u.name); info.Fencing && g.Token <= first.Token {
		t.Errorf("token %d after %d", g.Token, first.Token)
	}
	if err := b.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// testKill kills every server under a waiting client.
func testKill(t *testing.T, u underTest, servers []*server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	a := open(t, u.name, "a", addrs(servers), 10*time.Second)
	b := open(t, u.name, "b", addrs(servers), 10*time.Second)
	g, err := a.Acquire(ctx, "kill")
	if err != nil {
		t.Fatal(err)
	}
	short, cancelShort := context.WithTimeout(ctx, 2*time.Second)
	defer cancelShort()
	res := make(chan error, 1)
	go func() {
		_, err := b.Acquire(short, "kill")
		res <- err
	}()
	time.Sleep(200 * time.Millisecond) // so that b waits at the server, most times
	for _, s := range servers {
		s.kill()
	}
	if err := <-res; err == nil {
		t.Error("granted by dead servers")
	}
	short, cancelShort = context.WithTimeout(ctx, time.Second)
	defer cancelShort()
	// While it dies, a server may still say that it ends the session: that is its word.
	if err := a.Release(short, g); err == nil || errors.Is(err, ErrNotHeld) && !pgEnded(err) {
		t.Errorf("release with every server dead: %v; want an error, and not the service's word", err)
	}
}
