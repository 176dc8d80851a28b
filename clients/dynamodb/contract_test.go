package dynamodb

import (
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/clients/internal/servers/dynamoserver"
)

func TestMain(m *testing.M) { servers.Main(m, dynamoserver.Part) }

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func TestDynamoContract(t *testing.T) {
	contract.RunAll(t,
		contract.Options{Lock: named("dynamodb"), Start: dynamoserver.Start},
		// Its first request is a write; the other's is a read.
		contract.Options{Lock: named("dynamodb-wallclock"), Start: dynamoserver.Start, Cut: contract.Unknown},
	)
}
