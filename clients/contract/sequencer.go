package contract

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// OpenSequencer opens a sequencer, closed when the test ends.
func OpenSequencer(t testing.TB, lock clients.Info, servers []string) clients.Sequencer {
	t.Helper()
	q, err := lock.Sequencer(t.Context(), clients.Options{Servers: servers, TTL: time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

// Sequencer tests what the service answers about grants (Info.Sequencer): only the one in force
// is valid, and across a cut the answer is unknown.
func Sequencer(t *testing.T, u Options) {
	servers := u.Start(t)
	links := NewLinks(t, servers)
	ctx := Within(t, 60*time.Second)
	q := OpenSequencer(t, u.Lock, links.Addrs())
	want := func(token int64, valid bool, when string) {
		t.Helper()
		if ok, err := q.Valid(ctx, "k", token); err != nil || ok != valid {
			t.Errorf("token %d %s: %v, %v; want %v", token, when, ok, err, valid)
		}
	}
	want(1, false, "of a key that was never locked")
	a := Open(t, u.Lock, "a", Addrs(servers), time.Second)
	b := Open(t, u.Lock, "b", Addrs(servers), time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	want(g.Token, true, "of the holder")
	want(g.Token+1, false, "of no grant")
	if ok, err := q.Valid(ctx, "other", g.Token); err != nil || ok {
		t.Errorf("the holder's token on another key: %v, %v; want false", ok, err)
	}
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	want(g.Token, false, "after the release")
	g2, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	want(g.Token, false, "of an older holder")
	want(g2.Token, true, "of the newer holder")
	links.Cut()
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if ok, err := q.Valid(short, "k", g2.Token); err == nil {
		t.Errorf("across a cut: %v; want an error: unknown", ok)
	}
	links.Heal()
	want(g2.Token, true, "after the cut")
}
