//go:build linux

package harness_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sentinelBehindTLS is a Redis as redisBehindTLS, and a sentinel that knows the password for
// its default user.
func sentinelBehindTLS(t *testing.T) guarded { return withSentinel(t, "requirepass "+secret+"\n") }

// openSentinelBehindTLS has a sentinel that asks for no password.
func openSentinelBehindTLS(t *testing.T) guarded { return withSentinel(t, "") }

func withSentinel(t *testing.T, more string) guarded {
	t.Helper()
	g := redisBehindTLS(t)
	g.lock = "redis-sentinel"
	_, port, _ := net.SplitHostPort(g.addr)
	addr := freeAddr(t)
	_, own, _ := net.SplitHostPort(addr)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port 0\ntls-port %s\nbind 127.0.0.1\ntls-replication yes\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\ntls-auth-clients no\n"+
		"sentinel monitor mymaster 127.0.0.1 %s 1\nsentinel auth-user mymaster locks\nsentinel auth-pass mymaster %s\n%s", own, g.cert, g.key, g.ca, port, secret, more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	startOutside(t, addr, exec.Command("redis-server", config, "--sentinel"))
	g.addr += "," + addr
	return g
}
