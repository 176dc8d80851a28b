package redis

import (
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

// named is the lock of that name.
func named(name string) clients.Info { return contract.Named(Locks(), name) }

func one(t testing.TB) []*contract.Server  { return servers.Redis(t, 1) }
func five(t testing.TB) []*contract.Server { return servers.Redis(t, 5) }

func TestContract(t *testing.T) {
	contract.RunAll(t,
		contract.Options{Lock: named("redis"), Start: one, Cut: contract.Unknown},
		contract.Options{Lock: named("redlock"), Start: five, Cut: contract.Definite},
		contract.Options{Lock: named("redis-semaphore"), Start: one, Cut: contract.Unknown},
		contract.Options{Lock: named("redis-rwlock"), Start: one, Cut: contract.Unknown},
		contract.Options{Lock: named("redis-reentrant"), Start: one, Cut: contract.Unknown},
	)
}

func TestKinds(t *testing.T) {
	contract.Kinds(t,
		contract.Options{Lock: named("redis-semaphore"), Start: one},
		contract.Options{Lock: named("redis-rwlock"), Start: one},
		contract.Options{Lock: named("redis-reentrant"), Start: one},
	)
}

// What the libraries do without a fault, and whether the locks report their outcomes unchanged.
// Runs show how they break.
func TestLibraryContract(t *testing.T) {
	contract.RunAll(t,
		// go-redis as shipped goes on trying for longer
		contract.Options{Lock: named("redsync"), Start: five, Without: []string{contract.Cut}},
		contract.Options{Lock: named("redislock"), Start: one, Without: []string{contract.Cut}},
		// see TestRueidislockLoss
		contract.Options{Lock: named("rueidislock"), Start: one, Session: true, Without: []string{contract.Loss, contract.Cut}},
		// the sentinels name servers that the test cannot cut off
		contract.Options{Lock: named("redis-sentinel"), Start: startSentinels, Without: []string{contract.Loss, contract.Cut}},
	)
}

// TestRueidislockLoss: the library cancels the context of a holder that is cut off.
func TestRueidislockLoss(t *testing.T) {
	t.Parallel()
	contract.LossSignal(t, contract.Options{Lock: named("rueidislock"), TTL: time.Second}, one(t))
}

// The naive recipes are wrong under faults only: without any they exclude as well as
// the others, and report unknown outcomes as honestly. (Those whose tokens
// are out of order by design are seen in the scenarios.)
func TestNaiveContract(t *testing.T) {
	without := []string{contract.Loss, contract.Since, contract.Kill}
	contract.RunAll(t,
		contract.Options{Lock: named("redis-lua"), Start: one, Cut: contract.Unknown, Without: without},
		contract.Options{Lock: named("redis-delay"), Start: one, Cut: contract.Unknown, Without: without},
		// No lease, as if it had a session; and a client that is cut off in time keeps the
		// lock, which is its flaw.
		contract.Options{Lock: named("redis-setnx"), Start: one, Session: true, Without: append([]string{contract.Cut}, without...)},
		contract.Options{Lock: named("redis-del"), Start: one, Cut: contract.Unknown, Without: append([]string{contract.Twice}, without...)},
		contract.Options{Lock: named("redis-replica"), Start: one, Cut: contract.Unknown, Without: without},
		contract.Options{Lock: named("redlock-nocheck"), Start: five, Cut: contract.Definite, Without: without},
		contract.Options{Lock: named("redlock-wallclock"), Start: five, Cut: contract.Definite, Without: without},
	)
}

func TestLostReply(t *testing.T) {
	t.Parallel()
	contract.LostReply(t, contract.Options{Lock: named("redis"), TTL: time.Second, Start: one}, "NX", "EVAL")
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b,
		contract.Options{Lock: named("redis"), Start: one},
		contract.Options{Lock: named("redlock"), Start: five},
		contract.Options{Lock: named("redis-semaphore"), Start: one},
		contract.Options{Lock: named("redis-rwlock"), Start: one},
		contract.Options{Lock: named("redis-reentrant"), Start: one},
	)
}
