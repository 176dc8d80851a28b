package postgres

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
		contract.Options{Lock: named("postgres-session"), Start: startPostgres, Session: true, Cut: contract.Unknown, Lose: terminate, SaysSo: pgEnded},
		contract.Options{Lock: named("postgres-xact"), Start: startPostgres, Session: true, Lose: terminate, SaysSo: pgEnded},
		contract.Options{Lock: named("postgres-row"), Start: startPostgres, Session: true, Lose: terminate, SaysSo: pgEnded},
		contract.Options{Lock: named("postgres-table"), Start: startPostgres, Cut: contract.Unknown, SaysSo: pgEnded},
		contract.Options{Lock: named("postgres-shared"), Start: startPostgres, Session: true, Cut: contract.Unknown, Lose: terminate, SaysSo: pgEnded},
	)
}

func TestKinds(t *testing.T) {
	contract.Kinds(t, contract.Options{Lock: named("postgres-shared"), Start: startPostgres})
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b,
		contract.Options{Lock: named("postgres-session"), Start: startPostgres},
		contract.Options{Lock: named("postgres-xact"), Start: startPostgres},
		contract.Options{Lock: named("postgres-row"), Start: startPostgres},
		contract.Options{Lock: named("postgres-table"), Start: startPostgres},
		contract.Options{Lock: named("postgres-shared"), Start: startPostgres},
	)
}
