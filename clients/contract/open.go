package contract

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

func Within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Open opens a lock's client, closed when the test ends. A semaphore has one permit, which
// makes it a mutex.
func Open(t testing.TB, lock clients.Info, client string, servers []string, ttl time.Duration) clients.Lock {
	t.Helper()
	if lock.Kind == clients.Semaphore {
		return OpenWith(t, lock, client, servers, ttl, map[string]string{clients.OptionPermits: "1"})
	}
	return OpenWith(t, lock, client, servers, ttl, nil)
}

// OpenWith is Open with options of the lock's own.
func OpenWith(t testing.TB, lock clients.Info, client string, servers []string, ttl time.Duration, extra map[string]string) clients.Lock {
	t.Helper()
	if lock.Open == nil {
		t.Fatal("there is no such lock")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l, err := lock.Open(ctx, clients.Options{
		Servers: servers, Client: client, TTL: ttl, Extra: extra,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(fmt.Errorf("open %s: %w", lock.Name, err))
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func Addrs(servers []*Server) []string {
	var out []string
	for _, s := range servers {
		out = append(out, s.Addr)
	}
	return out
}

func Warm(t *testing.T, l clients.Lock) {
	t.Helper()
	ctx := Within(t, 30*time.Second)
	g, err := l.Acquire(ctx, "warm")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
}
