//go:build linux

package harness_test

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/internal/access"
)

// leavesNothing has a client take the lock and never come back, and picklock clean find that,
// and says what is wrong, "" for nothing.
func leavesNothing(t *testing.T, g guarded, before map[string]string) string {
	t.Helper()
	if g.lock == "dynamodb" {
		return "" // picklock's emulator lists no tables; the tests of the lock name theirs
	}
	info, err := all.Locks().Lookup(g.lock)
	if err != nil {
		t.Fatal(err)
	}
	a, err := access.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := strings.Split(g.addr, ",")
	l, err := info.Open(ctx, clients.Options{
		Servers: at, External: &clients.External{Addresses: at, Access: a}, Client: "c1", TTL: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Acquire(ctx, "picklock-abcdefghij-k0"); err != nil {
		return err.Error()
	}
	if maps.Equal(before, g.dump()) {
		return "the lock has left nothing"
	}
	stdout, stderr, code := command(t, "clean", "--lock", g.lock, "--endpoint", g.addr, "--all-marks", "--json")
	if after := g.dump(); code != 0 || !maps.Equal(before, after) {
		t.Logf("exit %d, %s%s", code, stdout, stderr)
		return "the server is not as it was"
	}
	return ""
}
