// Package contract has the tests that every lock must pass, whatever service it is on:
// that it excludes, claims no more than it knows, and works again after a fault. It knows
// what clients.Lock promises, and no service. It tests picklock's own locks and users'.
package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// Server is one server of a lock's service that a test has started.
type Server struct {
	Addr string // host:port
	Kill func() // ends it as a crash would, and returns when it has ended
}

// Options are a lock and what its tests need to know of it and of its service.
type Options struct {
	Lock clients.Info // at least Open; and Fencing and Kind where it has them
	// TTL is the lease or session timeout that is asked for; 1 s where it is 0.
	TTL time.Duration
	// Start starts new servers of the service, which end with the test.
	Start func(testing.TB) []*Server
	// Session: bound to a session that the client library keeps up, so that a
	// loss closes Grant.Lost; otherwise the lease just runs out.
	Session bool
	// HealLate heals the link of a holder that was cut off only when its Grant.Lost has closed:
	// what its library sends on a loss could free another client's lock otherwise. Of session
	// locks only.
	HealLate bool
	// Cut is what an acquire must end with when its request went out and the way
	// back is cut: Unknown, Definite, or "" where both are honest.
	Cut string
	// Lose, where the service does not notice that a client is cut off, ends what that
	// client holds in another way.
	Lose func(t testing.TB, servers []*Server)
	// SaysSo, if not nil, distinguishes a dying server's statement that the grant is over from
	// an error of the client.
	SaysSo func(error) bool
	// Without are the parts that the lock's library cannot pass, or that the tests
	// cannot do to it: Twice, Loss, Since, Vain, Cut, Kill.
	Without []string
}

// What an error can leave open (Options.Cut).
const (
	Unknown  = "unknown"  // it wraps clients.ErrUnknown
	Definite = "definite" // it does not
)

// The parts of the contract that a lock may be tested without.
const (
	Twice = "twice" // a second release of a grant frees no other client's
	Loss  = "loss"  // a holder that is cut off loses the lock to another, and reports it
	Since = "since" // a lease begins with the request that was granted
	Vain  = "vain"  // a client that gave up waiting holds nothing
	Cut   = "cut"   // a client that is cut off while waiting returns, and blocks no other
	Kill  = "kill"  // dead servers grant nothing and confirm nothing
)

// Named finds a lock by its name, among those of one service. The zero Info, of no such
// name, fails the test that opens it.
func Named(locks []clients.Info, name string) clients.Info {
	for _, i := range locks {
		if i.Name == name {
			return i
		}
	}
	return clients.Info{Name: name}
}

// Run tests one lock: servers are started once, and each part is a subtest; the last
// kills them. A semaphore is tested with one permit, as a mutex.
func Run(t *testing.T, u Options) {
	t.Helper()
	if u.TTL == 0 {
		u.TTL = time.Second
	}
	servers := u.Start(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, Options, []*Server)
	}{
		{"exclusion", testExclusion}, {Twice, testTwice}, {Loss, testLoss}, {Since, testSince},
		{Vain, testTimeout}, {Cut, testCut}, {Kill, testKill},
	} {
		if !slices.Contains(u.Without, part.name) {
			t.Run(part.name, func(t *testing.T) { part.test(t, u, servers) })
		}
	}
}

// RunAll tests several locks at the same time, each in a subtest of its name.
func RunAll(t *testing.T, locks ...Options) {
	t.Helper()
	for _, u := range locks {
		t.Run(u.Lock.Name, func(t *testing.T) {
			t.Parallel()
			Run(t, u)
		})
	}
}

// Kinds tests what locks that are no mutex promise besides (Info.Kind), each on servers of
// its own.
func Kinds(t *testing.T, locks ...Options) {
	t.Helper()
	tests := map[string]func(*testing.T, Options, []*Server){clients.Semaphore: testPermits, clients.ReadWrite: testShared, clients.Reentrant: testReentrant}
	for _, u := range locks {
		if u.TTL == 0 {
			u.TTL = time.Second
		}
		t.Run(u.Lock.Name, func(t *testing.T) {
			t.Parallel()
			tests[u.Lock.Kind](t, u, u.Start(t))
			if u.Lock.Downgrades {
				t.Run("downgrade", func(t *testing.T) { testDowngrade(t, u, u.Start(t)) })
			}
		})
	}
}
