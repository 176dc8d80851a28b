package hunt

import (
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// five is the workload of a lock for which four wait at once: a line may forget one of them, or a release
// wake too few. With three clients two wait at most. It is dear, a process more for each client and, of a
// library, a virtual machine more, and so it is one, with few faults, and after each fault's first turn.
const five = "five"

// fiveClients are its programs: B is the first to wait, leaves the line early, and comes back last.
var fiveClients = []string{
	five,
	"acquire, read, work 0.5 leases, write, release",
	"await A granted or 3 leases, acquire within 0.2 leases, read, write, release, acquire, read, write, release",
	"await B's acquire or 3 leases, acquire, read, write, release",
	"await B's acquire or 3 leases, acquire, read, write, release",
	"await B's acquire or 3 leases, acquire, read, write, release",
}

// endOfFirst is that A dies while all wait, or B when it has asked, or that B stands still then.
func endOfFirst(f fault, at scenarios.Trigger) bool {
	switch f.whom {
	case clientNames[0]:
		return f.word == "kill" && at.At == scenarios.Before && at.Do == history.Write
	case clientNames[1]:
		return (f.word == "kill" || f.word == "pause") && at.At == scenarios.Sent && at.Do == history.Acquire && at.Nth == 1 && at.N == 1
	}
	return false
}

// fiveEnds are when a lease that began meanwhile is over.
var fiveEnds = []scenarios.Until{{Or: scenarios.Span{Leases: 1.6}}}
