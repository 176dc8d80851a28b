package nats

import (
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func portOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1 // the server refuses it
	}
	return n
}

func startServer(t testing.TB) []*contract.Server {
	port := servers.FreePort(t)
	return serverPart.Start(t, port, port+" "+t.TempDir())
}

// TestRenewals: a renewed lease of a bucket ends a lease after the renewal; one whose key has its own time to live never
// ends any more.
func TestRenewals(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"nats-kv": true, "nats-kv-key": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = time.Second
			ctx := contract.Within(t, 60*time.Second)
			addrs := contract.Addrs(startServer(t))
			a, b := contract.Open(t, named(name), "a", addrs, ttl), contract.Open(t, named(name), "b", addrs, ttl)
			g, err := a.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.(clients.Renewer).Renew(ctx, g); err != nil {
				t.Fatal(err)
			}
			after, err := b.Acquire(contract.Within(t, 5*ttl), "k")
			if (err == nil) != ends {
				t.Fatalf("acquire after the renewed lease: %v", err)
			}
			if !ends {
				return
			}
			if after.Token <= g.Token {
				t.Errorf("token %d after %d", after.Token, g.Token)
			}
			if _, err := a.(clients.Renewer).Renew(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
				t.Errorf("renewal of what another holds: %v", err)
			}
			if err := errors.Join(b.Release(ctx, after)); err != nil {
				t.Error(err)
			}
			if err := a.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
				t.Errorf("release of what nobody holds: %v", err)
			}
		})
	}
}

// TestRenewalWithoutAnswer: a renewal that took effect without an answer is no other client's: the holder goes on.
func TestRenewalWithoutAnswer(t *testing.T) {
	t.Parallel()
	ctx := contract.Within(t, 60*time.Second)
	a := contract.Open(t, named("nats-kv"), "a", contract.Addrs(startServer(t)), 10*time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	before := g.Ref.(*hold).revision
	if _, err := a.(clients.Renewer).Renew(ctx, g); err != nil {
		t.Fatal(err)
	}
	g.Ref.(*hold).revision = before
	if _, err := a.(clients.Renewer).Renew(ctx, g); err != nil {
		t.Errorf("renewal: %v", err)
	}
	g.Ref.(*hold).revision = before
	if err := a.Release(ctx, g); err != nil {
		t.Errorf("release: %v", err)
	}
}

// TestStores: what a run leaves is found by its mark, in the buckets of both recipes, and nothing else is.
func TestStores(t *testing.T) {
	t.Parallel()
	const mark = "picklock-abcdefghij-"
	ctx := contract.Within(t, 60*time.Second)
	addrs := contract.Addrs(startServer(t))
	for _, name := range []string{"nats-kv", "nats-kv-key"} {
		l := contract.Open(t, named(name), "a", addrs, 20*time.Second)
		for _, key := range []string{mark + "k0", "k0"} {
			if _, err := l.Acquire(ctx, key); err != nil {
				t.Fatal(err)
			}
			if n, err := named(name).Inspect(ctx, clients.Options{Servers: addrs, TTL: 20 * time.Second}, key); n != 1 || err != nil {
				t.Errorf("%s of %s: %d entries, %v", key, name, n, err)
			}
		}
	}
	o := clients.Options{Servers: addrs, Client: "c", TTL: time.Second, Log: slog.New(slog.DiscardHandler)}
	for _, want := range []int{2, 0} {
		if n, err := service().Clean(ctx, o, mark); n != want || err != nil {
			t.Errorf("clean: %d, %v; want %d", n, err, want)
		}
	}
	var left []string
	err := stores(ctx, o, func(s clients.Store) error {
		return s.Each(ctx, "", func(key string) error { left = append(left, key); return nil })
	})
	if !slices.Equal(left, []string{"k0", "k0"}) || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
}
