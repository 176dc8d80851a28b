package hunt

import (
	"fmt"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// forgets is the workload of a server that fails when A has just been granted the lock, and of B, which asks when the server is back and A's lease still runs.
// B asks once more: its first request may end with its connection, which the failure has closed. In the other workloads a client that waits learns of the failure
// by an error, and asks no more, or it asks when the lease is over.
const forgets = "forgets"

// forgetful are its programs, for a lock that is not kept: of one that is, stays does so.
func forgetful(t Target) [][]string {
	switch {
	case t.Kept:
		return nil
	case t.Permits > 1:
		return permitsForgotten(t)
	}
	return [][]string{{forgets,
		"acquire, read, work 0.9 leases, write, release",
		"await A's read or 3 leases, acquire, read, write, release, acquire, read, write, release",
	}}
}

// permitsForgotten are the programs for a semaphore: A takes the last permit, the others have the rest, and B asks when all are out. None if there are too few
// clients for that.
func permitsForgotten(t Target) [][]string {
	names := t.ClientNames()
	if len(names) <= t.Permits {
		return nil
	}
	const section = "acquire, read, work 0.9 leases, release"
	out := []string{forgets,
		fmt.Sprintf("await %s granted or 3 leases, %s", names[t.Permits], section),
		"await A's read or 3 leases, acquire, read, release, acquire, read, release",
		section,
	}
	for i := 3; i <= t.Permits; i++ {
		out = append(out, fmt.Sprintf("await %s granted or 3 leases, %s", names[i-1], section))
	}
	return [][]string{out}
}

// crashAfterGrant is that servers crash, or lose their power, right after A's acquire.
func crashAfterGrant(f fault, at scenarios.Trigger) bool {
	return f.whom == "" && (f.word == "kill" || f.word == "powerloss") && at.At == scenarios.After && at.Do == history.Acquire
}

// forgetEnds is an end right after the failure. B, which has come to its acquire by then, stands still until the server is back, however long that takes.
var forgetEnds = []scenarios.Until{{
	Move: scenarios.Trigger{At: scenarios.Before, Client: clientNames[1], Do: history.Acquire, Nth: 1}, Or: scenarios.Span{Leases: 3},
}}

// Leases that outlast the restart of a server or a client, of which a database takes more than a second beside other runs, and a new connection.
const (
	restartLease   = 2 * time.Second
	reconnectLease = time.Second
)

// leaseOf is the lease of a workload if it is not the target's; 0: it is.
func (t Target) leaseOf(name string) time.Duration {
	if least := max(narrow[name].lease, time.Duration(narrow[name].leases)*t.TTL); t.TTL < least {
		return least
	}
	return 0
}
