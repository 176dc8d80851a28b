package redis

import (
	"context"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/internal/access"
	"github.com/picklock/picklock/internal/testkit"
)

// Every lock connects through TLS to servers with authentication, and cleans up there; without the
// password, or without trust in their certificate, it does not.
func TestLocksOnServersOfOthers(t *testing.T) {
	const mark = "picklock-0123456789-"
	bin := servers.Need(t, "redis-server", "redis-server")
	ca, cert, key := testkit.Certificate(t)
	var addrs []string
	for range 3 {
		port := servers.FreePort(t)
		s := servers.Start(t, port, exec.Command(bin, "--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
			"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no",
			"--user", "default", "off", "--user", "locks", "on", ">hidden-word", "~*", "&*", "+@all"))
		addrs = append(addrs, s.Addr)
	}
	t.Setenv("A_PASSWORD", "hidden-word")
	t.Setenv("ANOTHER", "another-word")
	good := access.Access{TLS: true, CA: ca, Username: "locks", PasswordEnv: "A_PASSWORD"}
	stranger, unknown := good, good
	stranger.PasswordEnv, unknown.CA = "ANOTHER", ""
	for _, info := range Locks() {
		if info.Cluster == "redis-sentinel" || info.Unlocked != nil {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			acquire := func(a access.Access, within time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				ttl := time.Second
				if info.Name == "rueidislock" {
					ttl = 10 * time.Second // see docs/findings/rueidislock-missed-wake-up.md
				}
				o := clients.Options{Servers: addrs, Client: "c1", TTL: ttl, Log: slog.New(slog.DiscardHandler), External: &clients.External{Addresses: addrs, Access: a}}
				l, err := info.Open(ctx, o)
				if err != nil {
					return err
				}
				defer l.Close()
				if _, err = l.Acquire(ctx, mark+"k0"); err != nil {
					return err
				}
				if n, err := service().Clean(ctx, o, mark); err != nil || n == 0 {
					t.Errorf("%d removed, %v", n, err)
				}
				return nil
			}
			if err := acquire(good, 10*time.Second); err != nil {
				t.Error(err)
			}
			if info.Name == "rueidislock" {
				return // its library goes on trying for a while when it is closed
			}
			for name, a := range map[string]access.Access{"another password": stranger, "no trust": unknown} {
				if acquire(a, 300*time.Millisecond) == nil {
					t.Errorf("%s: the lock was granted", name)
				}
			}
		})
	}
}

// Servers of a Redis Cluster are refused before anything is written there.
func TestNoRedisCluster(t *testing.T) {
	t.Parallel()
	bin := servers.Need(t, "redis-server", "redis-server")
	port := servers.FreePort(t)
	s := servers.Start(t, port, exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(), "--cluster-enabled", "yes", "--cluster-port", servers.FreePort(t)))
	o := clients.Options{Servers: []string{s.Addr}, External: &clients.External{Addresses: []string{"redis.example.com:6379"}}}
	if _, err := service().Clean(t.Context(), o, "picklock-abcdefghij-"); err == nil || !strings.Contains(err.Error(), "redis.example.com:6379 is one of a Redis Cluster") {
		t.Errorf("%v", err)
	}
	if n, err := service().ForForeignKeys().Clean(t.Context(), o, "picklock-abcdefghij-"); n != 0 || err != nil {
		t.Errorf("locks of other programs: %d, %v", n, err)
	}
}
