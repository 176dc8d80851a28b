package etcd

import (
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
)

func TestMain(m *testing.M) { servers.Main(m, etcdserver.Part) }

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func TestContract(t *testing.T) {
	contract.RunAll(t,
		contract.Options{Lock: named("etcd"), Start: etcdserver.Start, Session: true, Cut: contract.Unknown},
		contract.Options{Lock: named("etcd-lock-delay"), Start: etcdserver.Start, Session: true, Cut: contract.Unknown},
		contract.Options{Lock: named("etcd-rwlock"), Start: etcdserver.Start, Session: true, Cut: contract.Unknown},
	)
}

func TestKinds(t *testing.T) {
	contract.Kinds(t, contract.Options{Lock: named("etcd-rwlock"), Start: etcdserver.Start})
}

func TestSequencer(t *testing.T) {
	t.Parallel()
	contract.Sequencer(t, contract.Options{Lock: named("etcd"), Start: etcdserver.Start})
}

func TestLostReply(t *testing.T) {
	t.Parallel()
	// The lease is longer than the test waits.
	contract.LostReply(t, contract.Options{Lock: named("etcd"), TTL: 10 * time.Second, Start: etcdserver.Start}, "/picklock/lost/", "/picklock/lost/")
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b,
		contract.Options{Lock: named("etcd"), Start: etcdserver.Start},
		contract.Options{Lock: named("etcd-lock-delay"), Start: etcdserver.Start},
		contract.Options{Lock: named("etcd-rwlock"), Start: etcdserver.Start},
	)
}
