package consul

import (
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func TestContract(t *testing.T) {
	contract.RunAll(t,
		contract.Options{Lock: named("consul"), Start: startConsul, Session: true},
		contract.Options{Lock: named("consul-semaphore"), Start: startConsul, Session: true},
	)
}

func TestKinds(t *testing.T) {
	contract.Kinds(t, contract.Options{Lock: named("consul-semaphore"), Start: startConsul})
}

func TestSequencer(t *testing.T) {
	t.Parallel()
	contract.Sequencer(t, contract.Options{Lock: named("consul"), Start: startConsul})
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b,
		contract.Options{Lock: named("consul"), Start: startConsul},
		contract.Options{Lock: named("consul-semaphore"), Start: startConsul},
	)
}
