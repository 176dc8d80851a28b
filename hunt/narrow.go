package hunt

import (
	"fmt"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// narrow are the workloads in which not all faults are tried, or not all of their ends: which, and how they end; soon:
// that it shows something without a fault, and is tried so before any.
var narrow = map[string]struct {
	strikes func(fault, scenarios.Trigger) bool // nil: all that begin where faults of the workload do
	also    *scenarios.Trigger                  // one that the other workloads do not have
	ends    []scenarios.Until
	lease   time.Duration // at least; 0: any
	leases  int           // at least so many of the target's: on a slow machine, or with slow clients, that is longer
	soon    bool
	// ignores: its clients go on if their library reports the loss of a lock, as those do that only look at the answers.
	ignores bool
}{
	later:          {ends: laterEnds, soon: true},
	alone:          {strikes: noFault},
	renewsSoon:     {strikes: noFault},
	lives:          {strikes: crashAfterRenewals, ends: longerThanLease},
	turns:          {strikes: noFault, ends: longerThanLease},
	readerOutlives: {strikes: noFault},
	writerOutlives: {strikes: noFault},
	writerGivesUp:  {strikes: writerDies, ends: longerThanLease, soon: true},
	writerCancels:  {strikes: noFault, soon: true},

	entersRenewed:  {strikes: noFault, soon: true},
	downgradesLate: {strikes: noFault, soon: true},

	restarts:   {strikes: crashOfHolder, ends: restartEnds, lease: restartLease},
	lapses:     {strikes: slowGrant, ends: lapseEnds},
	cancels:    {strikes: cancelledRequest, ends: cancelEnds, soon: true},
	comesBack:  {strikes: lateAnswer, ends: longerThanLease},
	five:       {strikes: endOfFirst, ends: fiveEnds},
	returns:    {strikes: releaseLost, ends: returnEnds},
	shorter:    {strikes: strayingOwner, ends: strayingEnds, soon: true},
	longer:     {strikes: strayingOwner, ends: strayingEnds, soon: true},
	waits:      {strikes: strayingWaiter, ends: longerThanLease, ignores: true},
	stays:      {strikes: onServer, also: &atGrant, ends: stayEnds},
	twice:      {strikes: atFirstRelease, soon: true},
	secluded:   {strikes: seclusion, ends: untilItWrites},
	forgets:    {strikes: crashAfterGrant, also: &atGrant, ends: forgetEnds, lease: restartLease},
	asksTwice:  {strikes: questionLost, ends: aMoment, soon: true},
	asksLater:  {strikes: unheardHolder, ends: longerThanLease},
	unanswered: {strikes: answerLost, also: &secondRenewal, ends: aMoment, lease: reconnectLease},
	frees:      {strikes: requestLost, ends: aMoment, lease: keptLease, leases: keptLeases, soon: true},
	otherKept:  {strikes: releaseLost, ends: aMoment, soon: true},
	longKept:   {strikes: crashAfterRenewals, ends: longerThanLease},

	otherReleased:  {strikes: releaseLost, ends: aMoment, soon: true},
	freesNested:    {strikes: requestLost, ends: aMoment, lease: keptLease, leases: keptLeases, soon: true},
	freesShared:    {strikes: requestLost, ends: aMoment, lease: keptLease, leases: keptLeases, soon: true},
	freesCrashed:   {strikes: crashOfSharer, ends: restartEnds[:1], lease: keptLease, leases: keptLeases},
	cancelsGranted: {strikes: lateGrant, ends: lapseEnds},

	permitTaken:   {strikes: crashWithPermit, ends: longerThanLease},
	permitRenewed: {strikes: crashWithPermit, ends: longerThanLease},
	renewsLate:    {strikes: noFault, soon: true},
}

// atGrant is when A has just been granted the lock.
var atGrant = scenarios.Trigger{At: scenarios.After, Client: clientNames[0], Do: history.Acquire, Nth: 1}

// longerThanLease is an end when a lease is over that began before the fault.
var longerThanLease = []scenarios.Until{{Or: scenarios.Span{Leases: 1.6}}}

// alone is the workload of a client that extends its lease while nobody waits: what the service ends
// too early shows by its answer, and not by a next holder. A fault on A would excuse that answer, and what
// one on a server ends is granted to B in the other workloads.
const alone = "alone"

// noFault is of a workload that shows something without one, and nothing new with one.
func noFault(fault, scenarios.Trigger) bool { return false }

// lives is the workload of a client that renews for long: extensions that add up keep the lock from others
// when it has died. They add up to more than the bound of a deadlock, which is 20 leases at most.
const lives = "lives"

// crashAfterRenewals is that A dies after its renewals.
func crashAfterRenewals(f fault, at scenarios.Trigger) bool {
	return f.word == "kill" && f.whom == clientNames[0] && at.At == scenarios.Before && at.Do == history.Write
}

// turns is the workload of a lock that is granted a hundred times: numbers that it counts get a digit more, and a limit
// is come to that a few grants do not reach.
const turns = "turns"

// restarts is the workload of a client that comes back after its death: a lock may take it for the one that died,
// or what it finds for its own. In the other workloads a client that was killed asks no more, or when
// the others have finished.
const restarts = "restarts"

// anew is for how many leases a client works that has come back: it outlives what its death left behind, and not the lease
// of its new grant, unless that is kept.
func (t Target) anew() string {
	if t.Kept {
		return "1.2"
	}
	return "0.9"
}

// crashOfHolder is that A dies while it holds the lock for the first time, or is about to.
func crashOfHolder(f fault, at scenarios.Trigger) bool {
	return f.word == "kill" && f.whom == clientNames[0] && at.Nth == 1 &&
		(at.At == scenarios.Before && (at.Do == history.Write || at.Do == history.Release) || at.At == scenarios.Sent && at.N == 1)
}

// restartEnds are that A runs again before its lease is over, and in the middle of B's section.
var restartEnds = []scenarios.Until{
	{AtOnce: true},
	{Move: scenarios.Trigger{At: scenarios.After, Client: clientNames[1], Do: history.Read, Nth: 1}, Or: scenarios.Span{Leases: 3}},
}

// lapses is the workload of a client that stops waiting while its grant is on the way: the service has granted
// the lock, and the library must give it back. In the other workloads a client that gives up has been refused
// until then.
const lapses = "lapses"

// slowGrant is that the answers to A's acquire come late or never, or that A cannot read them.
func slowGrant(f fault, at scenarios.Trigger) bool {
	slow := f.word == "pause" || (f.word == "hold" || f.word == "withhold") && strings.HasPrefix(f.text, f.word+": "+scenarios.Servers)
	return slow && f.whom == clientNames[0] && at.Do == history.Acquire && at.At == scenarios.Sent && at.N <= mostLapses
}

// mostLapses is how many messages of an acquire are tried: one may be the connection's.
const mostLapses = 2

// lapseEnds are after the client has given up, and so early that a watchdog which renews the grant a third of a lease
// later still finds it, on a busy machine, too.
var lapseEnds = []scenarios.Until{{Or: scenarios.Span{Leases: 0.2}}}

// comesBack is the workload of a client that asks again before it has had the answer to what it asked last: a connection that
// is used again gives it that one. In the other workloads a client whose answer is late does no more, or nobody
// else has the lock by then.
const comesBack = "comes-back"

// lateAnswer is that the answer to A's first acquire or release comes late.
func lateAnswer(f fault, at scenarios.Trigger) bool {
	return f.word == "hold" && f.whom == clientNames[0] && strings.HasPrefix(f.text, "hold: "+scenarios.Servers+" to ") &&
		at.At == scenarios.Before && at.Nth == 1 && (at.Do == history.Acquire || at.Do == history.Release)
}

// waits is the workload of a client whose place in line goes while it waits: its session, or what else tells the
// service that it still waits, has a lease of its own. The lock must not be granted to it by that place. In the
// other workloads the holder does not work for long enough.
const waits = "waits"

// stays is the workload of a lock that its library, or its session, keeps for many leases: the servers may forget what
// they have extended, while one of them is gone, and when it is back. An acquire that meets the fault may end with an error:
// C asks when that is over.
const stays = "stays"

// secluded is the workload of a client that hears nothing of the service until long after its lease, works on, and writes:
// its library can tell it of the loss by its own clock alone.
const secluded = "secluded"

// longKept is the workload of a client whose library renews for long: what lives is for a client that renews by itself. A library that renews
// twice in a lease or more often, and adds a lease each time, has added more than the bound of a deadlock when its client dies.
const longKept = "kept-long"

// addUp is for how many leases a client works in it.
func (t Target) addUp() int {
	bound := max(t.Bound, leastBound, leastBoundLeases*t.TTL)
	return min(mostAddUp, int((bound+t.TTL-1)/max(t.TTL, 1))+1)
}

// The bound of a deadlock is the greater of these where none is asked for (harness.DefaultBound); the last is for how many leases a client
// works at most.
const (
	leastBound       = 5 * time.Second
	leastBoundLeases = 5
	mostAddUp        = 20
)

// longHolds are their programs, for a lock that is kept while A works.
func longHolds(t Target) [][]string {
	seclusion := "work 3 leases"
	if t.Granted == 0 {
		seclusion = "work 5 leases" // only the next grant shows how long a session was
	}
	return [][]string{{waits,
		"acquire, read, work 6 leases, write, release",
		"await A granted or 3 leases, acquire, read, work 0.6 leases, write, release",
		"await B waiting or 3 leases, acquire, read, work 0.6 leases, write, release",
	}, {stays,
		"acquire, read, work 3.3 leases, work 2.7 leases, write, release",
		"await A granted or 3 leases, acquire, read, write, release",
		"await A's 2nd work or 8 leases, acquire, read, write, release",
	}, {secluded,
		"acquire, read, " + seclusion + ", write, release",
		"await A granted or 3 leases, acquire, read, work 0.6 leases, write, release",
	}, {longKept,
		fmt.Sprintf("acquire, read, work %d leases, write, release", t.addUp()),
		fmt.Sprintf("await A done or %d leases, acquire, read, write, release", t.addUp()+4),
	}}
}

// strayingWaiter is that B stands still, or hears or says nothing, from when it waits.
func strayingWaiter(f fault, at scenarios.Trigger) bool {
	return f.whom == clientNames[1] && at.At == scenarios.Event && (f.word == "pause" || f.word == "cut" || f.word == "hold" && strings.HasPrefix(f.text, "hold: "+scenarios.Servers))
}

// seclusion is that A hears nothing of the servers.
func seclusion(f fault, _ scenarios.Trigger) bool {
	return f.whom == clientNames[0] && (f.word == "cut" || f.word == "hold" && strings.HasPrefix(f.text, "hold: "+scenarios.Servers))
}

// unheardHolder is that what A sends, or what is sent to A, is lost or late for longer than a lease.
func unheardHolder(f fault, _ scenarios.Trigger) bool { return f.whom == clientNames[0] }

// untilItWrites is until A has written.
var untilItWrites = []scenarios.Until{{
	Move: scenarios.Trigger{At: scenarios.After, Client: clientNames[0], Do: history.Write, Nth: 1}, Or: scenarios.Span{Leases: 6},
}}

// onServer is that something befalls a server when A has just been granted the lock, and B asks for it meanwhile; or when
// B waits.
func onServer(f fault, at scenarios.Trigger) bool {
	return f.whom == "" && (at.At == scenarios.Event || at.At == scenarios.After && at.Do == history.Acquire)
}

// stayEnds are when the servers without the one that is gone have had time to choose another leader, and to extend A's
// lease there. A still works.
var stayEnds = []scenarios.Until{{Or: scenarios.Span{Leases: 3}}}
