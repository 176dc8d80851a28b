package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// testExclusion lets four clients compete for one key: never two hold it, tokens rise with every
// grant, and no lease claims to have begun too late.
func testExclusion(t *testing.T, u Options, servers []*Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var (
		inside    atomic.Int32
		grants    atomic.Int32
		lastToken int64 // guarded by the lock under test
		group     sync.WaitGroup
	)
	for n := range 4 {
		l := Open(t, u.Lock, fmt.Sprint("c", n), Addrs(servers), 5*u.TTL) // no lease is to end here, however busy the machine
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
				if u.Lock.Fencing && g.Token <= lastToken {
					t.Errorf("token %d after %d", g.Token, lastToken)
				}
				lastToken = g.Token
				if (g.Since == 0) != (g.Lease == 0) || g.Since > after || u.Lock.Fencing != (g.Token != 0) {
					t.Errorf("grant %+v, now %d", g, after)
				}
				if !u.Session && g.Since < before {
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

// testTwice releases a grant twice. The second time another client has the lock, and keeps it; and the client can go on.
func testTwice(t *testing.T, u Options, servers []*Server) {
	ctx := Within(t, 60*time.Second)
	one := func(name string) clients.Lock { return Open(t, u.Lock, name, Addrs(servers), 10*u.TTL) }
	a, b, c := one("a"), one("b"), one("c")
	take := func(l clients.Lock) clients.Grant {
		t.Helper()
		g, err := l.Acquire(ctx, "twice")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	ga := take(a)
	if err := a.Release(ctx, ga); err != nil {
		t.Fatal(err)
	}
	gb := take(b)
	if err := a.Release(ctx, ga); errors.Is(err, clients.ErrUnknown) && u.Lock.Library == nil {
		t.Errorf("released twice: %v; want an error that wraps ErrNotHeld, or none", err) // a library may not say
	}
	if _, err := c.Acquire(Within(t, 300*time.Millisecond), "twice"); err == nil {
		t.Error("a second release freed another client's lock")
	}
	if err := b.Release(ctx, gb); err != nil {
		t.Error(err)
	}
	for _, l := range []clients.Lock{a, c, a} {
		if err := l.Release(ctx, take(l)); err != nil {
			t.Error(err)
		}
	}
}

// testLoss takes the lock from a holder that is cut off, and checks what its client reports
// afterwards.
func testLoss(t *testing.T, u Options, servers []*Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	links := NewLinks(t, servers)
	a := Open(t, u.Lock, "a", links.Addrs(), u.TTL)
	b := Open(t, u.Lock, "b", Addrs(servers), u.TTL)
	g, err := a.Acquire(ctx, "loss")
	if err != nil {
		t.Fatal(err)
	}
	links.Cut()
	if u.Lose != nil {
		u.Lose(t, servers)
	}
	g2, err := b.Acquire(ctx, "loss")
	if err != nil {
		t.Fatalf("after the holder was cut off: %v", err)
	}
	if !u.HealLate {
		links.Heal()
	}
	if u.Session {
		select {
		case <-g.Lost:
		case <-ctx.Done():
			t.Fatal("the session is gone and Lost never closed")
		}
	}
	if u.HealLate {
		links.Heal()
	}
	// A library that released on its own, in vain and while cut off, can only say that it failed.
	if err := a.Release(ctx, g); err == nil || !u.HealLate && !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release without holding: %v; want ErrNotHeld", err)
	}
	if r, ok := a.(clients.Renewer); ok {
		if _, err := r.Renew(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
			t.Errorf("renew without holding: %v; want ErrNotHeld", err)
		}
		if _, err := b.(clients.Renewer).Renew(ctx, g2); err != nil {
			t.Errorf("renew by the holder: %v", err)
		}
	}
	h, ok := a.(clients.Holder)
	if ok != u.Lock.Holds && !u.Lock.Declares {
		t.Errorf("its table says that it can be asked whether it is held: %v; it can: %v", u.Lock.Holds, ok)
	}
	if ok {
		if held, err := h.Holds(ctx, g); held || err != nil {
			t.Errorf("asked without holding: %v, %v; want false", held, err)
		}
		if held, err := b.(clients.Holder).Holds(ctx, g2); !held || err != nil {
			t.Errorf("the holder asked: %v, %v; want true", held, err)
		}
	}
	if err := b.Release(ctx, g2); err != nil {
		t.Errorf("release by the holder: %v", err)
	}
	// The client that lost its grant works again.
	g3, err := a.Acquire(ctx, "loss")
	if err != nil {
		t.Fatalf("acquire after a loss: %v", err)
	}
	if u.Lock.Fencing && g3.Token <= g2.Token {
		t.Errorf("token %d after %d", g3.Token, g2.Token)
	}
	if err := a.Release(ctx, g3); err != nil {
		t.Errorf("release: %v", err)
	}
}

// testSince lets a client wait: its lease begins with the request that was
// granted, not with the first that it sent.
func testSince(t *testing.T, u Options, servers []*Server) {
	if u.Session {
		t.Skip("the lease is the session's, whether or not a client waits")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	const ttl = 5 * time.Second
	a := Open(t, u.Lock, "a", Addrs(servers), ttl)
	b := Open(t, u.Lock, "b", Addrs(servers), ttl)
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

// testTimeout: a client that gave up waiting certainly holds nothing, then or later.
func testTimeout(t *testing.T, u Options, servers []*Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	a := Open(t, u.Lock, "a", Addrs(servers), 10*time.Second)
	b := Open(t, u.Lock, "b", Addrs(servers), 10*time.Second)
	g, err := a.Acquire(ctx, "timeout")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		begin := time.Now()
		_, err = b.Acquire(short, "timeout")
		cancel()
		if err == nil || errors.Is(err, clients.ErrUnknown) || time.Since(begin) < 250*time.Millisecond {
			t.Fatalf("acquire of a held lock: %v after %v; want a definite failure at the deadline", err, time.Since(begin))
		}
	}
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	// A late grant to b would block a for 10 s.
	begin := time.Now()
	g, err = a.Acquire(ctx, "timeout")
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("free lock granted after %v: a client that gave up held it", d)
	}
	if err := a.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// testCut cuts a waiting client off: it must return by its deadline or soon
// after, and must not block the lock for longer than its lease.
func testCut(t *testing.T, u Options, servers []*Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	links := NewLinks(t, servers)
	a := Open(t, u.Lock, "a", Addrs(servers), u.TTL)
	b := Open(t, u.Lock, "b", links.Addrs(), u.TTL)
	first, err := b.Acquire(ctx, "cut") // so that b is connected
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(ctx, first); err != nil {
		t.Fatal(err)
	}
	links.Cut()
	short, cancelShort := context.WithTimeout(ctx, 2*u.TTL)
	defer cancelShort()
	begin := time.Now()
	_, err = b.Acquire(short, "cut")
	if err == nil {
		t.Fatal("granted across a cut")
	}
	if d := time.Since(begin); d > 10*u.TTL {
		t.Errorf("came back after %v, asked to within %v", d, 2*u.TTL)
	}
	if unknown := errors.Is(err, clients.ErrUnknown); unknown && u.Cut == "definite" || !unknown && u.Cut == "unknown" {
		t.Errorf("cut off: %v; want the outcome to be %s", err, u.Cut)
	}
	links.Heal()
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
	if u.Lock.Fencing && g.Token <= first.Token {
		t.Errorf("token %d after %d", g.Token, first.Token)
	}
	if err := b.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// testKill kills every server under a waiting client.
func testKill(t *testing.T, u Options, servers []*Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	a := Open(t, u.Lock, "a", Addrs(servers), 10*time.Second)
	b := Open(t, u.Lock, "b", Addrs(servers), 10*time.Second)
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
		s.Kill()
	}
	if err := <-res; err == nil {
		t.Error("granted by dead servers")
	}
	short, cancelShort = context.WithTimeout(ctx, time.Second)
	defer cancelShort()
	// While it dies, a server may still report the end of the session.
	if err := a.Release(short, g); err == nil || errors.Is(err, clients.ErrNotHeld) && (u.SaysSo == nil || !u.SaysSo(err)) {
		t.Errorf("release with every server dead: %v; want an error, and not the service's answer", err)
	}
}
