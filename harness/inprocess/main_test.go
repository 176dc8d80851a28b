// Package inprocess has runs whose harness is the test's own process, on each runtime,
// where the race detector sees it. It imports the client of one service only, so that it
// is compiled for the detector in a moment.
package inprocess

import (
	"os"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/redis"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/testkit"
)

// program is what the nodes run.
var program string

func TestMain(m *testing.M) {
	os.Exit(testkit.NoneLeft(testkit.WithProgram(&program, m.Run)))
}

// options are those of a lock that holds under everything that the tests do.
func options() harness.Options {
	o := harness.Defaults()
	o.Locks, o.Backends, o.Self = clients.NewTable(nil, redis.Locks()...), register.Backends{register.OwnServer()}, program
	o.Lock, o.Fencing, o.Clients, o.TTL, o.Limit = "redis-lua", "read-write", 3, time.Second, 6*time.Second
	return o
}
