package clients

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"
)

// asked are the locks whose service can be asked about a grant.
var asked = []askedLock{
	{"etcd", startEtcd},
	{"zookeeper", startZooKeeper},
}

type askedLock struct {
	name  string
	start func(testing.TB) []*server
}

func openSequencer(t *testing.T, name string, servers []string) Sequencer {
	t.Helper()
	info, err := Builtin().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	q, err := info.Sequencer(t.Context(), Options{Servers: servers, TTL: time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func TestSequencer(t *testing.T) {
	for _, tc := range asked {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			servers := tc.start(t)
			ways := newLinks(t, servers)
			ctx := within(t, 60*time.Second)
			q := openSequencer(t, tc.name, ways.addrs())
			want := func(token int64, valid bool, when string) {
				t.Helper()
				if ok, err := q.Valid(ctx, "k", token); err != nil || ok != valid {
					t.Errorf("token %d %s: %v, %v; want %v", token, when, ok, err, valid)
				}
			}
			want(1, false, "of a key that was never locked")
			a := open(t, tc.name, "a", addrs(servers), time.Second)
			b := open(t, tc.name, "b", addrs(servers), time.Second)
			g, err := a.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			want(g.Token, true, "of the holder")
			want(g.Token+1, false, "of nobody")
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
			ways.cut()
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			if ok, err := q.Valid(short, "k", g2.Token); err == nil {
				t.Errorf("across a cut: %v; want an error: nobody knows", ok)
			}
			ways.healed()
			want(g2.Token, true, "after the cut")
		})
	}
}

// TestSequencerWaiting: one who waits has a key with a revision of its own, and holds
// nothing.
func TestSequencerWaiting(t *testing.T) {
	t.Parallel()
	servers := startEtcd(t)
	ctx := within(t, 30*time.Second)
	a := open(t, "etcd", "a", addrs(servers), time.Second)
	b := open(t, "etcd", "b", addrs(servers), time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan Grant, 1)
	go func() {
		g, err := b.Acquire(ctx, "k")
		if err != nil {
			t.Error(err)
		}
		waiting <- g
	}()
	for n := 0; n < 2; {
		if n, err = lookEtcd(ctx, servers[0].addr, "k"); err != nil {
			t.Fatal(err)
		}
	}
	q := openSequencer(t, "etcd", addrs(servers))
	for token := g.Token + 1; token < g.Token+5; token++ { // its key's is among these
		if ok, err := q.Valid(ctx, "k", token); err != nil || ok {
			t.Errorf("token %d of one who waits: %v, %v; want false", token, ok, err)
		}
	}
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	if g2 := <-waiting; g2.Token < g.Token+1 || g2.Token >= g.Token+5 {
		t.Errorf("the one who waited got token %d after %d: the test asked about others", g2.Token, g.Token)
	}
}
