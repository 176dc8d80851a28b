package hunt

import (
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// returns is the workload of a client that asks for the lock again right after a release whose answer was lost, and then has it for long. If its library
// makes that release again, it comes while the next grant runs, and must not end it: both may carry the client's name. In the other workloads such a client
// has the lock for a moment only, or others have it first.
const returns = "returns"

// returning are its programs. B asks when A has the lock again: whether it waits or not, it is let in by what ends A's grant.
var returning = []string{
	returns,
	"acquire, read, write, release, acquire, read, work 0.9 leases, write, release",
	"await after A's 2nd acquire or 3 leases, acquire, read, write, release",
}

// returnEnds are how long the answer is kept back before it is lost: a library that repeats the request does so in a moment, or when it has waited for
// longer than most answers take.
var returnEnds = []scenarios.Until{{Or: scenarios.Span{Leases: 0.1}}, {Or: scenarios.Span{Leases: 0.5}}}

// releaseLost is that the answer to A's first release is lost.
func releaseLost(f fault, at scenarios.Trigger) bool {
	return requestLost(f, at) && at.Do == history.Release && at.Nth == 1
}
