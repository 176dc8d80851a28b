package exec

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/internal/testkit"
)

// execParent makes a test binary a worker with the exec lock of that name.
const execParent = "PICKLOCK_TEST_PARENT"

func TestMain(m *testing.M) { servers.Main(m, servers.Part{Variable: execParent, Do: parent}) }

// named is the lock of that name.
func named(name string) clients.Info {
	i, _ := Program(strings.TrimPrefix(name, clients.ExecPrefix)) // the zero Info cannot be opened
	return i
}

func oneRedis(t testing.TB) []*contract.Server { return servers.Redis(t, 1) }

func TestContract(t *testing.T) {
	testkit.NeedProgram(t, "python3", "apt install python3")
	contract.RunAll(t, contract.Options{Lock: named("exec:python3 ../../docs/examples/redis_lock.py"), Start: oneRedis, Cut: contract.Unknown})
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: named("exec:python3 ../../docs/examples/redis_lock.py"), Start: oneRedis})
}
