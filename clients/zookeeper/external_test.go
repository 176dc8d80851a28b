package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/internal/access"
	"github.com/picklock/picklock/internal/testkit"
)

// tree is all that there is below a node, with what made it.
func tree(t *testing.T, s *zkSession, node string, out map[string]string) map[string]string {
	t.Helper()
	nodes, err := s.syncedChildren(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		path := node + "/" + n
		if node == "/" {
			path = "/" + n
		}
		stat, err := s.stat(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = fmt.Sprint(stat.Czxid)
		tree(t, s, path, out)
	}
	return out
}

// The locks connect through TLS with a certificate to a server that accepts no other client, and
// leave it as it was.
func TestLocksOnAServerOfOthers(t *testing.T) {
	const mark = "picklock-0123456789-"
	ca, cert, key := testkit.Certificate(t)
	port := servers.FreePort(t)
	at := servers.Start(t, port, testkit.GuardedZooKeeper(t, port, servers.FreePort(t), ca, cert, key)).Addr
	options := func(change func(*access.Access)) clients.Options {
		a := access.Access{TLS: true, CA: ca, Cert: cert, Key: key}
		change(&a)
		return clients.Options{Servers: []string{at}, Client: "c1", TTL: 2 * time.Second, Log: slog.New(slog.DiscardHandler), External: &clients.External{Addresses: []string{at}, Access: a}}
	}
	good := options(func(*access.Access) {})
	others, err := newZKSession(good, false)
	if err != nil {
		t.Fatal(err)
	}
	defer others.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := others.connected(ctx); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} { // the locks' common parent
		if there {
			for _, node := range []string{"/picklock", "/picklock/k0", "/picklock/picklock-k0", "/picklock/my-" + mark + "k0", "/other"} {
				if _, err := others.create(ctx, node, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := tree(t, others, "/", map[string]string{})
		for _, info := range Locks() {
			l, err := info.Open(ctx, good)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Acquire(ctx, mark+"k0"); err != nil {
				t.Fatalf("%s: %v", info.Name, err)
			}
			if n, err := service().Clean(ctx, good, mark); err != nil || n < 2 {
				t.Errorf("%s: %d removed, %v", info.Name, n, err)
			}
			if after := tree(t, others, "/", map[string]string{}); !maps.Equal(before, after) {
				t.Errorf("%s: the server has %v, had %v", info.Name, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	before := tree(t, others, "/", map[string]string{})
	for _, node := range []string{"/app", "/app/" + mark + "k0", "/app/" + mark + "k0/1", "/app/" + mark + "k0/1/2", "/" + mark} {
		if _, err := others.create(ctx, node, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := service().ForForeignKeys().Clean(ctx, good, mark); n != 4 || err == nil || !strings.Contains(err.Error(), "1 names") {
		t.Errorf("%d removed wherever they are, %v", n, err)
	}
	if err := others.delete(ctx, "/app"); err != nil {
		t.Error(err)
	}
	if after := tree(t, others, "/", map[string]string{}); !maps.Equal(before, after) {
		t.Errorf("the server has %v, had %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
	for name, change := range map[string]func(*access.Access){
		"no certificate": func(a *access.Access) { a.Cert, a.Key = "", "" },
		"no trust":       func(a *access.Access) { a.CA = "" },
	} {
		l, err := named("zookeeper").Open(ctx, options(change))
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := l.Acquire(short, mark+"k1"); err == nil {
			t.Errorf("%s: the lock was granted", name)
		}
		cancel()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A login that the locks cannot make is refused.
func TestNoLogin(t *testing.T) {
	for name, a := range map[string]access.Access{
		"username": {Username: "locks"}, "password": {PasswordEnv: "A_PASSWORD"}, "password in a file": {PasswordFile: "/a/file"},
	} {
		o := clients.Options{Servers: []string{"127.0.0.1:1"}, TTL: time.Second, Log: slog.New(slog.DiscardHandler), External: &clients.External{Access: a}}
		if _, err := service().Clean(t.Context(), o, "picklock-abcdefghij-"); !errors.Is(err, errLogin) {
			t.Errorf("%s: clean: %v", name, err)
		}
		for _, info := range Locks() {
			l, err := info.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := l.Acquire(ctx, "k"); !errors.Is(err, errLogin) {
				t.Errorf("%s: %s: %v", name, info.Name, err)
			}
			cancel()
			l.Close()
		}
	}
}
