package memcached

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

func startServer(t testing.TB) []*contract.Server {
	port := servers.FreePort(t)
	args := []string{"-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "1"}
	if os.Geteuid() == 0 {
		args = append(args, "-u", "nobody")
	}
	return []*contract.Server{servers.Start(t, port, exec.Command(servers.Need(t, "memcached", "memcached"), args...))}
}

// named is the lock of that name.
func TestContract(t *testing.T) {
	contract.RunAll(t, contract.Options{Lock: contract.Named(Locks(), "memcached"), Start: startServer, Cut: contract.Unknown})
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: contract.Named(Locks(), "memcached"), Start: startServer, TTL: time.Second})
}
