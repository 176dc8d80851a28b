package checker

import "github.com/picklock/picklock/history"

// Input is all that a verdict is drawn from.
type Input struct {
	Events  []history.Event  // ordered by time; Index is their position in the file
	Effects []history.Effect // the register's log; nil where the history stands alone
	Options Options
}

// Options says what was asked of the run.
type Options struct {
	Faults  []string // fault names that were requested: each must have been confirmed
	Require []string // further properties that must hold, e.g. belief
	// Bound is the liveness bound in ns: a lock that is free and wanted, with no
	// fault on, must be granted within it. 0 means 5 s.
	Bound int64
	// TTL, in ns, is the lease that the clients asked for. A grant that promises none of
	// its own may be over when that is; 0: nothing ends it but its release or loss.
	TTL int64
	// Lease, in ns, is the longest lease that the lock was seen to grant elsewhere, in other runs; 0: nothing is known of it.
	// So an acquire of unknown outcome does not excuse a wait for ever if no grant of this record shows a lease.
	Lease int64
	// Fair, in ns, is how long a client may wait for a contested lock while others
	// are granted it; more is starvation. 0: starvation is not judged.
	Fair int64
	// Skew, in ns, is how far the clocks of any two machines may be apart (Event.Machine;
	// a process that names none is a machine of its own). 0: all times are of one clock.
	Skew int64
	// WallSet, in ns, is by how much the wall clock of the machine was set meanwhile, either way, and not by a fault of the
	// history: a service may have ended leases so much earlier or later. 0: it was not.
	WallSet int64
	// SkipCrossCheck leaves out the second opinion of Porcupine, whose cost is bounded
	// (about 10 ms, a second at most) and not that of the exact checks.
	SkipCrossCheck bool
	// Leaderless is how many servers the lock has of which none leads the others, so that a grant needs a majority of them; 0: one leads, or
	// nothing is known of it.
	Leaderless int
	// Servers is how many servers the lock has; 0: nothing is known of it.
	Servers int
	// Renew: the clients were to renew their leases. If they asked, one must have had an answer.
	Renew bool
	// NoLock: the clients share the register without a lock. Only the register is
	// judged then, and required.
	NoLock bool
	// widened: nothing is taken from the times but what holds however the machines' clocks
	// are shifted within Skew.
	widened bool
}
