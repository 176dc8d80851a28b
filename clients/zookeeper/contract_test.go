package zookeeper

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
	contract.RunAll(t, contract.Options{Lock: named("zookeeper"), Start: servers.ZooKeeper, Session: true})
}

// TestLibraryContract: the library's lock cannot leave the line, and never signals a loss.
func TestLibraryContract(t *testing.T) {
	contract.RunAll(t, contract.Options{
		Lock: named("zk-lock"), Start: servers.ZooKeeper, Session: true, Without: []string{contract.Vain, contract.Loss, contract.Cut},
	})
}

// TestNaiveContract: without faults the herd excludes as well as the line does.
func TestNaiveContract(t *testing.T) {
	contract.RunAll(t, contract.Options{
		Lock: named("zookeeper-parent"), Start: servers.ZooKeeper, Session: true, Without: []string{contract.Loss, contract.Since, contract.Kill},
	})
}

func TestSequencer(t *testing.T) {
	t.Parallel()
	contract.Sequencer(t, contract.Options{Lock: named("zookeeper"), Start: servers.ZooKeeper})
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: named("zookeeper"), Start: servers.ZooKeeper})
}
