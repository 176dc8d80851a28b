package kubernetes

import (
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
)

func TestMain(m *testing.M) { servers.Main(m, etcdserver.Part) }

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func TestContract(t *testing.T) {
	// A leader that misses its deadline releases the Lease, whoever has it by then
	// (docs/findings/client-go-wrong-release.md).
	contract.RunAll(t, contract.Options{Lock: named("kubernetes-lease"), Start: startKube, Session: true, HealLate: true})
}

func TestSequencer(t *testing.T) {
	t.Parallel()
	contract.Sequencer(t, contract.Options{Lock: named("kubernetes-lease"), Start: startKube})
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: named("kubernetes-lease"), Start: startKube})
}
