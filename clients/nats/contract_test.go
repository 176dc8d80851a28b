package nats

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

// serverPart is the server's process: its value is the port and the folder of its files, which is the test's to remove: the
// process is killed.
var serverPart = servers.Part{Variable: "PICKLOCK_TEST_NATS", Do: serve}

func TestMain(m *testing.M) { servers.Main(m, serverPart) }

func serve(value string) error {
	port, dir, _ := strings.Cut(value, " ")
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: portOf(port), JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func TestContract(t *testing.T) {
	contract.RunAll(t,
		contract.Options{Lock: named("nats-kv"), Start: startServer},
		contract.Options{Lock: named("nats-kv-key"), Start: startServer, TTL: 2 * time.Second},
	)
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: named("nats-kv"), Start: startServer})
}
