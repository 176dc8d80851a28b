package etcd

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
	"github.com/picklock/picklock/history"
)

func openDelayed(t *testing.T, client string, servers []string, delay string) clients.Lock {
	t.Helper()
	info := named("etcd-lock-delay")
	l, err := info.Open(t.Context(), clients.Options{
		Servers: servers, Client: client, TTL: time.Second, Extra: map[string]string{"delay": delay},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestLockDelayAfterLoss: no client gets a lock that was lost until the delay after the end of
// the lease is over, whatever its former holder does by then.
func TestLockDelayAfterLoss(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	servers := etcdserver.Start(t)
	links := contract.NewLinks(t, servers)
	a := openDelayed(t, "a", links.Addrs(), delay.String())
	b := openDelayed(t, "b", contract.Addrs(servers), delay.String())
	ctx := contract.Within(t, 60*time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if g.Lease != time.Second {
		t.Errorf("lease %v: it contains the delay; the holder asked for 1s", g.Lease)
	}
	type granted struct {
		g   clients.Grant
		at  int64
		err error
	}
	next := make(chan granted, 1)
	go func() {
		g, err := b.Acquire(ctx, "k")
		next <- granted{g, history.Now(), err}
	}()
	// It is kept up for longer than one lease.
	last := g.Since
	for begin := history.Now(); history.Now()-begin < int64(2*time.Second); {
		select {
		case r := <-g.Renewals:
			last = r.Since
		case <-g.Lost:
			t.Fatal("lost without a cause")
		}
	}
	links.Cut()
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Fatal("the lease is over and Lost never closed")
	}
	for len(g.Renewals) > 0 {
		last = (<-g.Renewals).Since
	}
	links.Heal()
	if err := a.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release after the loss: %v; want ErrNotHeld", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	n := <-next
	if n.err != nil {
		t.Fatal(n.err)
	}
	if early := time.Duration(last) + g.Lease + delay - time.Duration(n.at); early > 0 {
		t.Errorf("granted %v before the end of the delay", early)
	}
	if n.g.Token <= g.Token {
		t.Errorf("token %d after %d", n.g.Token, g.Token)
	}
}

// TestLockDelayAfterRelease: a lock that was released is free at once.
func TestLockDelayAfterRelease(t *testing.T) {
	t.Parallel()
	servers := etcdserver.Start(t)
	a := openDelayed(t, "a", contract.Addrs(servers), "60s")
	b := openDelayed(t, "b", contract.Addrs(servers), "60s")
	ctx := contract.Within(t, 20*time.Second)
	for range 3 {
		for _, l := range []clients.Lock{a, b} {
			g, err := l.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(ctx, g); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLockDelayClosed: a client that ends releases what it holds and leaves the line.
func TestLockDelayClosed(t *testing.T) {
	t.Parallel()
	servers := etcdserver.Start(t)
	a := openDelayed(t, "a", contract.Addrs(servers), "60s")
	ctx := contract.Within(t, 20*time.Second)
	if _, err := a.Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openDelayed(t, "b", contract.Addrs(servers), "60s").Acquire(ctx, "k"); err != nil {
		t.Error(err)
	}
}
