package file

import (
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m, servers.Part{Variable: fileHolder, Do: holdFile}) }

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }
