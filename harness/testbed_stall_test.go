package harness_test

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/workloads"
)

// A disk that hung leaves servers that are whole once it works again: what runs on them next shows what it shows elsewhere.
func TestAfterStall(t *testing.T) {
	t.Parallel()
	for lock, on := range map[string]struct {
		server string
		ttl    time.Duration
	}{
		"etcd":           {"leader", time.Second},
		"zookeeper":      {"leader", 400 * time.Millisecond},
		"postgres-table": {"postgres", time.Second},
	} {
		t.Run(lock, func(t *testing.T) {
			need(t, strings.TrimSuffix(lock, "-table"))
			needDisks(t)
			l := openTestbed(t, harness.TestbedConfig{Settings: workloads.Settings{Lock: lock, TTL: on.ttl}, Faults: []string{"disk"}})
			for _, fault := range []string{
				"{when: before A's acquire, 'disk': " + on.server + " stall, until: 1.6 leases}", "",
				"{when: before A's release, 'disk': " + on.server + " stall, until: B granted or 3 leases}", "",
				"{when: before A's write, kill: A, until: B granted or 3 leases}",
			} {
				s := schedule(t, lock, fault)
				s.TTL = on.ttl
				r, err := l.Run(t.Context(), s)
				for range 10 {
					if err != nil || !r.Busy {
						break
					}
					r, err = l.Run(t.Context(), s)
				}
				if err != nil {
					t.Fatalf("%s: %v", fault, err)
				}
				// A stall that outlasts the lease is a hazard to any lease: a client may learn of its grant when that is over.
				bugs, _, resource := r.Verdict.Failures()
				switch {
				case r.Discarded != "":
					t.Errorf("%q: discarded: %s", fault, r.Discarded)
				case bugs+resource > 0 || r.Verdict.Valid != checker.True && fault == "":
					t.Errorf("%q: %v: %s, %+v", fault, r.Verdict.Valid, r.Verdict.Why, r.Verdict.Anomalies)
				}
			}
			if n := l.Starts(); n != 1 {
				t.Errorf("the servers were started %d times", n)
			}
		})
	}
}
