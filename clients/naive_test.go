package clients

import (
	"testing"
	"time"
)

// The naive recipes are wrong under faults only: without any they exclude as well as
// the others, and they are as honest about what they do not know. (Those whose tokens
// are out of order by design are seen in the scenarios.)
func TestNaiveContract(t *testing.T) {
	one := func(t testing.TB) []*server { return startRedis(t, 1) }
	five := func(t testing.TB) []*server { return startRedis(t, 5) }
	for _, u := range []underTest{
		{name: "redis-lua", ttl: time.Second, start: one, cut: "unknown"},
		{name: "redis-delay", ttl: time.Second, start: one, cut: "unknown"},
		{name: "redis-setnx", ttl: time.Second, start: one, session: true}, // no lease, as if it had a session
		{name: "redis-del", ttl: time.Second, start: one, cut: "unknown"},
		{name: "redis-replica", ttl: time.Second, start: one, cut: "unknown"},
		{name: "redlock-nocheck", ttl: time.Second, start: five, cut: "definite"},
		{name: "redlock-wallclock", ttl: time.Second, start: five, cut: "definite"},
		{name: "zookeeper-parent", ttl: time.Second, start: startZooKeeper, session: true},
	} {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			servers := u.start(t)
			t.Run("mutual exclusion", func(t *testing.T) { testExclusion(t, u, servers) })
			t.Run("waiting in vain", func(t *testing.T) { testTimeout(t, u, servers) })
			if u.name == "redis-setnx" {
				return // a client that is cut off in time keeps the lock: that is its flaw
			}
			t.Run("cut while waiting", func(t *testing.T) { testCut(t, u, servers) })
		})
	}
}
