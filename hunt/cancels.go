package hunt

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// cancels is the workload of a client that cancels its acquire amid the wait, with another one behind it, and comes back. A library that is told how
// long it may wait gives up by itself, where it has planned to; a cancellation meets it wherever it is.
const cancels = "cancels"

// cancelsGranted is the workload of a client that cancels its acquire while the grant is on the way: its library must give back what it has got, and
// must not go on to renew it.
const cancelsGranted = "cancels-granted"

// cancelling are their programs, for a lock whose acquire can be cancelled.
func cancelling(t Target) [][]string {
	if !t.Cancels {
		return nil
	}
	return [][]string{
		{cancels, // A's work tells C when B is waiting
			"acquire, read, work 0.15 leases, work 0.55 leases, write, release",
			"await A granted or 3 leases, acquire cancelled after 0.3 leases, read, write, release, acquire, read, work 0.3 leases, write, release",
			"await A's 2nd work or 3 leases, acquire, read, write, release"},
		{cancelsGranted,
			"acquire cancelled after 0.1 leases, read, write, release",
			"await after A's acquire or 3 leases, acquire, read, write, release",
			"await B granted or 3 leases, acquire, read, write, release"},
	}
}

// cancelledIn is how long a client waits and cancels in leases, in all: the permits are taken for longer.
const cancelledIn = 0.4

// cancellingCrowd are the same for a semaphore: one waits while all permits are taken, as often as there are permits, and one leaves what must not keep a permit.
func cancellingCrowd(t Target) [][]string {
	n := len(t.ClientNames())
	if !t.Cancels || n != t.Permits+2 {
		return nil
	}
	const holds, waits = "acquire, read, work 0.15 leases, work 0.55 leases, release", "await %s or 3 leases, "
	holder := clientNames[n-2]
	// A permit that a cancelled acquire keeps is missed by nobody as long as there is another one.
	each := fmt.Sprintf("acquire cancelled after %.2g leases, read, release, ", cancelledIn/float64(t.Permits))
	amid := []string{cancels, holds, fmt.Sprintf(waits, holder+" granted") + strings.Repeat(each, t.Permits) + "acquire, read, work 0.3 leases, release"}
	onTheWay := []string{cancelsGranted, "acquire cancelled after 0.1 leases, read, release"}
	for range t.Permits - 1 {
		amid = append(amid, fmt.Sprintf(waits, "A granted")+holds)
	}
	for range t.Permits {
		onTheWay = append(onTheWay, fmt.Sprintf(waits, "after A's acquire")+"acquire, read, work 0.3 leases, release")
	}
	// Before that, the last client would stand in line between two of them.
	over := scenarios.Trigger{Client: clientNames[1], Do: history.Acquire, Nth: t.Permits + 1}
	return [][]string{append(amid, fmt.Sprintf(waits, over)+"acquire, read, release"), onTheWay}
}

// cancelledRequest is that what B asks for in the acquire that it cancels, or the answer, is late or lost when that is cancelled.
func cancelledRequest(f fault, at scenarios.Trigger) bool {
	lost := f.word == "hold" || f.word == "withhold" || f.word == "reset" || f.word == "cut"
	return lost && f.whom == clientNames[1] && at.Do == history.Acquire && at.Nth == 1 && at.At == scenarios.Sent && at.N <= mostCancelled
}

// lateGrant is that the answers to A's acquire come late or never. While A is paused it cancels nothing.
func lateGrant(f fault, at scenarios.Trigger) bool { return f.word != "pause" && slowGrant(f, at) }

// mostCancelled is how many messages of such an acquire are tried: it looks, and then listens or stands in line.
const mostCancelled = 2

// cancelEnds are after the cancellation, and before the holder's release.
var cancelEnds = []scenarios.Until{{Or: scenarios.Span{Leases: 0.4}}}
