package s3

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

func startServer(t testing.TB) []*contract.Server {
	port := servers.FreePort(t)
	cmd := exec.Command(filepath.Join(servers.Got(t, "s3", "versitygw"), "versitygw"), "--port", "127.0.0.1:"+port, "--quiet", "--keep-alive", "posix", t.TempDir())
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=picklock", "ROOT_SECRET_KEY=picklock")
	return []*contract.Server{servers.Start(t, port, cmd)}
}

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func TestContract(t *testing.T) {
	// Its first request is a read.
	contract.RunAll(t, contract.Options{Lock: named("s3-lease"), Start: startServer})
}

// The others are wrong under faults only. A crashed client keeps an object without a lease.
func TestOtherContracts(t *testing.T) {
	without := []string{contract.Loss, contract.Since, contract.Kill}
	contract.RunAll(t,
		contract.Options{Lock: named("s3-lockfile"), Start: startServer, Session: true, Without: append([]string{contract.Cut}, without...)},
		contract.Options{Lock: named("s3-delete"), Start: startServer, Without: append([]string{contract.Twice}, without...)},
	)
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: named("s3-lease"), Start: startServer, TTL: time.Second})
}
