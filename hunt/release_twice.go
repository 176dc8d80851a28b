package hunt

import (
	"fmt"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// twice is the workload of a client that releases its lock twice, as a retry after an error or a second clean-up does.
// The second time others have the lock, and one more waits: nobody may be let in by it.
const twice = "twice"

// releaseTwice are its programs.
func releaseTwice(t Target) []string {
	last := func(of string) string {
		return "await " + of + " granted or 3 leases, acquire, read, work 0.1 leases, write, release"
	}
	switch n := len(t.ClientNames()); {
	case t.Permits > 1:
		// A's permit, and all others, are taken when it releases again.
		holder := clientNames[n-2]
		out := []string{twice, fmt.Sprintf("acquire, read, release, await after %s's work or 3 leases, release again", holder)}
		for range n - 2 {
			out = append(out, "await A granted or 3 leases, acquire, read, work 0.3 leases, work 0.4 leases, release")
		}
		return append(out, "await "+holder+" granted or 1 lease, acquire, read, work 0.1 leases, release")
	case t.Shared:
		// Two readers, of whom A leaves twice, and a writer who waits for the other one.
		return []string{twice,
			"acquire shared, read, release, await after B's work or 3 leases, release again",
			"await A granted or 3 leases, acquire shared, read, work 0.3 leases, work 0.4 leases, read, release",
			last(clientNames[1])}
	}
	return []string{twice,
		"acquire, read, release, await after B's work or 3 leases, release again",
		"await A granted or 3 leases, acquire, read, work 0.3 leases, work 0.4 leases, write, release",
		last(clientNames[1])}
}

// atFirstRelease is a fault on what A asks for, or is answered, when it first releases the lock: it does not know what
// became of that, and asks again.
func atFirstRelease(f fault, at scenarios.Trigger) bool {
	return f.whom == clientNames[0] && at.Do == history.Release && at.Nth == 1
}
