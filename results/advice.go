package results

import (
	"strings"

	"github.com/picklock/picklock/checker"
)

// docs is where the pages are that a report links to: it is read far from here.
const docs = "https://github.com/picklock/picklock/blob/main/docs/"

// advice is what is known of a root cause: what happened in plain words, and the way
// out. This table is its one home.
type advice struct {
	anomaly string
	cause   string // as the checker names it; "" fits every cause
	// fits looks at what the history shows. It may return a figure for the "%" in
	// says. nil fits always.
	fits func(seen) (figure string, ok bool)
	says string
	do   string
	page string // under docs, with its trigger
}

// seen is one group of anomalies of a run.
type seen struct {
	run   Run
	group checker.Group
	list  []checker.Anomaly // the group's own
	// cutShort are, of all groups, those of leases that were given away before their time, with nothing else known of why, by their times:
	// what cuts leases short shows in all of them.
	cutShort []checker.Anomaly
}

// Causes and mitigations that several lines share.
const (
	noServer      = "no-server"
	grantedByNone = "a client was granted the lock while no server could answer it: it takes an error, a missing answer or its own memory for a grant"
	failClosed    = "if the service cannot be reached, nobody has the lock: report the error, and let the caller decide"
	tookError     = "a client took an error of the service for the lock, or for the renewal of its lease"
	lateRelease   = "a release that came late may have freed the lock when another client had it: whose lock it is, and deleting it, are two steps, or nothing compares the owner"
	ownUnanswered = "an earlier release of the same client was not answered, and may have freed its next grant: it came late or was made again, and both grants have one owner's name"
	ownName       = "give each grant an owner's name of its own, and make a release again only under the name of the grant that it gives back"
	freedAnother  = "a client released the lock without looking at the owner, or under the same owner's name, and freed another client's"
	twoSteps      = "a writer that went on to read lost the lock in between: giving it back and sharing it are two steps"
	passedOn      = "a client that waited was granted the lock when another one gave up waiting: it may have taken that for its own turn"
	lookFirst     = "let a client that waits look who has the lock when the one before it leaves the queue, and take it only if nobody has"
	oneStep       = "let the service turn the writer's entry into a reader's in one step that compares the owner"
	readAnswer    = "an error that the service answers is neither a grant nor a renewal: report it, or ask again"
)

// The first line that fits is taken, so what is special stands before what is general.
var advices = []advice{
	{"wrong-release", "renewed-late", nil, "a renewal that came late may have taken the lock back from another client, and the release then freed it: or nothing compares the owner",
		"compare the owner and extend in one step; compare the owner and delete in one step", "guides/mitigations.md#renewing"},
	{"wrong-release", "", nil, freedAnother,
		"compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},

	{"false-belief", "extended", nil, "a lease was extended that its client had lost to another one",
		"renew only what is still one's own: compare the owner and extend in one step, and give its answer to the user", "guides/mitigations.md#renewing"},
	{"false-belief", "released", nil, "the release of a lock was confirmed that its client had lost to another one",
		"compare the owner and delete in one step, and give its answer to the user", "guides/mitigations.md#answers"},
	{"expired-grant", "", nil, "a library granted the lock when it was over by what the library itself says",
		"count the lease from right before the request that was granted, not from the first try; look at it before the lock is returned", "guides/mitigations.md#expired-grant"},
	{"false-belief", "held", nil, "asked whether its client holds the lock, the lock said yes after another client had been granted it",
		"let the service compare the owner; if it must be answered from memory, answer no once the lease may be over", "guides/mitigations.md#answers"},

	{"revoked-early", "wrong-release", nil, freedAnother,
		"compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},
	{"revoked-early", "late-release", nil, lateRelease, "compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},
	{"revoked-early", "noticed", nil, "the library reported the loss of a lease that had most of its time left: either the service ended it, or the report is false",
		"look for what shortens or deletes the key, and for a report that belongs to an earlier grant", "guides/mitigations.md#false-reports"},
	{"revoked-early", "", struck(failed), "the service forgot a grant when its server failed",
		"use a service that has a grant on a majority's disks before it answers", "guides/mitigations.md#lost-grants"},
	{"revoked-early", "", struck(promoted), "the server that took over did not know of a grant",
		"use a service that has a grant on a majority's disks before it answers", "guides/mitigations.md#lost-grants"},
	{"revoked-early", "", struck(serverClock), "the lease is counted by the service's clock, which was wrong",
		"count leases by a clock that nobody sets", "internals/clock.md"},
	{"revoked-early", "", nil, "the service ended a lease before its time: the holder lost the lock that it had been promised",
		"look for what shortens or deletes the key: an expiry that a renewal sets, an eviction, another client's watchdog, the release of another permit", "guides/mitigations.md#short-lease"},

	{"false-loss", "noticed", nil, "the library reported the loss of a lock that its client had",
		"end a timer or watch with its grant, and report a loss of no other grant", "guides/mitigations.md#false-reports"},
	{"false-loss", "not-held", nil, "asked whether its client holds the lock, the lock said no, although it did",
		"let the service compare the owner, and compare the very grant that was asked about", "guides/mitigations.md#false-reports"},
	{"false-loss", "not-extended", nil, "the lock refused to extend a lease that its client had",
		"compare the owner and extend in one step, and take an error for no answer", "guides/mitigations.md#false-reports"},

	{"token-regression", "", struck(failed), "the service forgot its grants and the counter of the tokens when its server failed",
		"keep the counter where the lock is kept, and as safe; go on from the greatest token that the resource has seen", "guides/mitigations.md#tokens"},
	{"token-regression", "", struck(promoted), "the server that took over did not know the latest token",
		"keep the counter where the lock is kept, and as safe; go on from the greatest token that the resource has seen", "guides/mitigations.md#tokens"},
	{"token-regression", "", struck(serverClock), "the tokens follow the service's clock, which was wrong",
		"count the tokens up; no clock orders grants", "guides/mitigations.md#tokens"},
	{"token-regression", "", struck(clientClock), "the tokens follow a client's clock, which was wrong",
		"let the service count the tokens up; no clock orders grants", "guides/mitigations.md#tokens"},
	{"token-regression", "", struck(refusing), tookError, readAnswer, "guides/mitigations.md#errors"},
	{"token-regression", "went-back", nil, "the counter of the tokens went back: it expired, or was deleted or lost",
		"keep the counter for good, apart from the lock's key, which expires and is deleted", "guides/mitigations.md#tokens"},
	{"token-regression", "or-overlap", nil, "tokens and grants contradict each other: the tokens do not follow the order of the grants, or two clients held the lock at once",
		"let one order decide both: grant the lock in the order of the tokens, or draw the token in the step that grants it", "guides/mitigations.md#tokens"},
	{"token-regression", "", nil, "the token is not drawn in the order of the grants, but before the lock is won or after it; or the counter went back; or a late answer was taken for it",
		"draw it in the same step that takes the lock, from a counter that nothing deletes, and close a connection on which an answer is missing", "guides/mitigations.md#tokens"},
	{"token-reuse", "", struck(failed), "the service forgot its grants and the counter of the tokens when its server failed",
		"keep the counter where the lock is kept, and as safe; go on from the greatest token that the resource has seen", "guides/mitigations.md#tokens"},
	{"token-reuse", "", struck(promoted), "the server that took over did not know the latest token",
		"keep the counter where the lock is kept, and as safe; go on from the greatest token that the resource has seen", "guides/mitigations.md#tokens"},
	{"token-reuse", "", struck(serverClock), "the tokens follow the service's clock, which was wrong",
		"count the tokens up; no clock orders grants", "guides/mitigations.md#tokens"},
	{"token-reuse", "", struck(clientClock), "the tokens follow a client's clock, which was wrong",
		"let the service count the tokens up; no clock orders grants", "guides/mitigations.md#tokens"},
	{"token-reuse", "", struck(refusing), tookError, readAnswer, "guides/mitigations.md#errors"},
	{"token-reuse", "went-back", nil, "the counter of the tokens went back: it expired, or was deleted or lost",
		"keep the counter for good, apart from the lock's key, which expires and is deleted", "guides/mitigations.md#tokens"},
	{"token-reuse", "", nil, "two grants carry one token: not every grant draws a new one, the counter went back, or the lock takes two clients for one owner",
		"raise the counter in the same step that takes the lock, in the service and not in the client, and let nothing delete it", "guides/mitigations.md#tokens"},

	{"granted-early", "renewed-early", nil, "a lease that had ended was renewed although another client held the lock",
		"renew only what is still one's own: compare the owner and extend in one step", "guides/mitigations.md#renewing"},
	{"granted-early", "renewed-ended", nil, "a client's lease had ended when it was renewed, and the lock said that it was extended",
		"look at what the service answers to a renewal, and tell the client that a lease is lost that had ended", "guides/mitigations.md#renewing"},
	{"granted-early", "ended-early", shareOfLease, "the lock was given away after % of the lease that it had promised, while no other client asked for anything: the lease ended by itself, or the client that waited took the lock over",
		"give the key the expiry that its client counts on, in the step that takes or renews it; and let a client that waits take over only what is certainly over", "guides/mitigations.md#short-lease"},
	{"granted-early", "ended-early", nil, "the service gave the lock away while another client's lease had time left, and no other client asked for anything: the lease ended by itself, or the client that waited took the lock over",
		"give the key the expiry that its client counts on, in the step that takes or renews it; and let a client that waits take over only what is certainly over", "guides/mitigations.md#short-lease"},
	{"granted-early", "wrong-release", nil, freedAnother,
		"compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},
	{"granted-early", "downgrade-gap", nil, twoSteps, oneStep, "guides/mitigations.md#one-step"},
	{"granted-early", "freed-more", nil, "a release freed more of the lock than its client gave back: an inner entry, a reader's share or a permit that it no longer had freed what others still held",
		"count the entries, the readers or the permits by owner, and take away one's own only, in one step", "guides/mitigations.md#wrong-release"},
	{"granted-early", "shared-expiry", nil, "when the lease of an earlier client ended, more clients were let in than that left room for: permits or readers' shares expire together, or counting and taking are two steps",
		"give each permit and each reader's share an expiry of its own, and count and take in one step", "guides/mitigations.md#one-step"},
	{"granted-early", "late-release", nil, lateRelease, "compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},
	{"granted-early", "own-release", nil, ownUnanswered, ownName, "guides/mitigations.md#own-release"},
	{"granted-early", "renewed-meanwhile", nil, "a renewal was under way when another client was granted the lock, and was answered as if its own client still had it: whose the lock is, and extending it, may be two steps",
		"compare the owner and extend in one step, and give its answer to the user", "guides/mitigations.md#renewing"},
	{"granted-early", "given-up", nil, passedOn, lookFirst, "guides/mitigations.md#stuck-queue"},
	{"granted-early", "other-key", nil, "a release of another lock may have freed this one: the name of one begins that of the other, and they are confused",
		"name what belongs to a lock in full, or end its name with a mark that no name contains; delete, count and subscribe by that name, and by no pattern or prefix", "guides/mitigations.md#other-key"},
	{"granted-early", "counted-late", nil, "a client's lease lasts longer than the service keeps it: it is counted from the answer, or from a request that was sent again, and the first request took or renewed the lock",
		"count the lease from before the first request that may have taken or renewed the lock", "guides/mitigations.md#lost-answer"},
	{"granted-early", "confirmed-lost", nil, "the release of a lock, a permit or an inner entry was confirmed that its client had lost: its lease or session was over, and another client had been granted the lock",
		"compare the owner and take away what it gives back in one step, and give the answer to the user", "guides/mitigations.md#answers"},
	{"granted-early", "minority", nil, "a client was granted the lock, or renewed its lease, while a majority of the servers could not answer it: others let a second client in",
		"take the lock, and renew it, only if more than half of all servers agreed; one that does not answer, or answers with an error, did not", "guides/mitigations.md#majority"},
	{"granted-early", noServer, nil, grantedByNone, failClosed, "guides/mitigations.md#errors"},
	{"granted-early", "rounded", nil, "the lease ended less than a millisecond before its time: it is counted in whole milliseconds and rounded down, or counted from the answer",
		"round the end of a lease up, or promise one millisecond less, and count it from before the request", "guides/mitigations.md#short-lease"},
	{"granted-early", "granted-early", stillDown, "the lock went to two clients while a server was down or coming back: too few of the servers granted it, or one that did not know of the earlier grant did",
		"grant with a majority of all servers, those that are down included; one that comes back learns first what the others granted", "guides/mitigations.md#majority"},
	{"granted-early", "granted-early", cameBack, "a server that had failed before the lease was granted or renewed came back without knowing of it",
		"grant with a majority of all servers, those that are down included; one that comes back learns first what the others granted", "guides/mitigations.md#lost-grants"},
	{"granted-early", "granted-early", struck(failed), "the service forgot a grant when its server failed",
		"use a service that has a grant on a majority's disks before it answers, or fence the resource with tokens that outlive the failure", "guides/mitigations.md#lost-grants"},
	{"granted-early", "granted-early", struck(promoted), "the server that took over did not know of a grant",
		"use a service that has a grant on a majority's disks before it answers, or fence the resource with tokens that outlive the failure", "guides/mitigations.md#lost-grants"},
	{"granted-early", "granted-early", struck(serverClock), "the lease is counted by the service's clock, which was wrong",
		"count leases by a clock that nobody sets, keep back what clocks drift, or fence the resource", "internals/clock.md"},
	{"granted-early", "granted-early", struck(clientClock), "the lease, or how long a client waits for its end, is counted by a client's clock, which was wrong",
		"let the service count leases by a clock that nobody sets, keep back what clocks drift, or fence the resource", "internals/clock.md"},
	{"granted-early", "granted-early", struck(refusing), tookError, readAnswer, "guides/mitigations.md#errors"},
	{"granted-early", "granted-early", struck(server), "the service gave the lock away while another client's lease had time left, and a fault was on: it may have forgotten the grant",
		"see in the evidence what the fault struck; a service must have a grant on a majority's disks before it answers", "guides/mitigations.md#lost-grants"},
	{"granted-early", "granted-early", struck(clientLinks), "the lock went to two clients when messages of a client were lost or late",
		"a missing answer is neither a grant nor a release: ask again as the same owner, compare it in every step, and count the lease from the first request", "guides/mitigations.md#lost-answer"},
	{"granted-early", "granted-early", stoppedHolder("kill of a client"), "a holder that was killed lost the lock after % of the lease that it had been promised",
		"promise no more than the service keeps: count the lease from before the request, and give the key that expiry; what ends with its client's connection has no lease", "guides/mitigations.md#short-lease"},
	{"granted-early", "granted-early", stoppedHolder("pause of a client"), "a holder that was stopped lost the lock after % of the lease that it had been promised",
		"promise no more than the service keeps: count the lease from before the request, give the key that expiry, and take over no lease that has time left", "guides/mitigations.md#short-lease"},
	{"granted-early", "granted-early", struck(clientStopped), "the lock went to two clients when a client was stopped in the middle of a step, before one that does not compare the owner, or until the answer to its acquire was too old",
		"taking, renewing and releasing must each be one step that compares the owner; a lease counts from before the request", "guides/mitigations.md#one-step"},
	{"granted-early", "granted-early", afterRenewal, "the lock was given away right after its holder had renewed the lease: the renewal may have freed it",
		"let a renewal compare the owner and extend the lease in one step, and delete nothing", "guides/mitigations.md#renewing"},
	{"granted-early", "granted-early", afterInner, "the lock was given away right after its holder had released an inner entry: that release may have freed all of it",
		"count the entries by owner, and take away one only, in one step", "guides/mitigations.md#wrong-release"},
	{"granted-early", "granted-early", ofEntry, "an inner acquire promised a lease that the lock did not keep: it ended with that of the outer one",
		"start the lease anew in the step that counts the entry, or promise no more than is left of it", "guides/mitigations.md#short-lease"},
	{"granted-early", "granted-early", shareOfLease, "the lock was given away after % of the lease that it had promised",
		"give the key the expiry that its client counts on, in the same step that takes it", "guides/mitigations.md#short-lease"},
	{"granted-early", "granted-early", atOnce, "two clients were granted the lock at the same moment: whether it is free and taking it are two steps, or it takes both for one owner",
		"look and take in one step, as set if absent, compare and swap, a unique key; and give each client an owner's name of its own", "guides/mitigations.md#one-step"},
	{"granted-early", "granted-early", ofPermits, "the service let more clients in than there are permits, while the leases of the others had time left",
		"count those who hold a permit and take one in the same step; a permit is free when its own holder gives it back, or its lease is over", "guides/mitigations.md#one-step"},
	{"granted-early", "granted-early", nil, "the service gave the lock away while another client's lease had time left",
		"look in the evidence for what ended that lease: taking, renewing and releasing must each be one step that compares the owner", "guides/mitigations.md#one-step"},

	{"double-grant", "wrong-release", nil, freedAnother,
		"compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},
	{"double-grant", "downgrade-gap", nil, twoSteps, oneStep, "guides/mitigations.md#one-step"},
	{"double-grant", "freed-more", nil, "a release freed more of the lock than its client gave back: an inner entry, a reader's share or a permit that it no longer had freed what others still held",
		"count the entries, the readers or the permits by owner, and take away one's own only, in one step", "guides/mitigations.md#wrong-release"},
	{"double-grant", "own-release", nil, ownUnanswered, ownName, "guides/mitigations.md#own-release"},
	{"double-grant", "late-release", nil, lateRelease, "compare the owner and delete in one step", "guides/mitigations.md#wrong-release"},
	{"double-grant", "counted-late", nil, "a client's library counted the lease from an answer that came late: for the service it was over before",
		"count a lease from before the request that takes or renews it, and give up the lock when it is over by that", "guides/mitigations.md#lost-answer"},
	{"double-grant", "given-up", nil, passedOn, lookFirst, "guides/mitigations.md#stuck-queue"},
	{"double-grant", noServer, nil, grantedByNone, failClosed, "guides/mitigations.md#errors"},
	{"double-grant", "not-renewed", nil, "the library stopped renewing the lock, and another client was granted it",
		"look at what ends the library's watchdog: an error that it does not survive, or the end of another grant", "guides/mitigations.md#not-renewed"},
	{"double-grant", "", struck(refusing), tookError, readAnswer, "guides/mitigations.md#errors"},
	{"double-grant", "", ofPermits, "the service let more clients in than there are permits",
		"count those who hold a permit and take one in the same step; a permit is free when its own holder gives it back", "guides/mitigations.md#one-step"},
	{"double-grant", "", nil, "the service granted the lock to two clients at once",
		"see in the evidence what came between the two grants: if nothing did, look and take in one step; a release or a downgrade must leave what is still held", "guides/mitigations.md#one-step"},

	{"stale-write", "not-renewed", nil, "the library stopped renewing the lease, and its client wrote when it was over",
		"look at what ends the library's watchdog: an error that it does not survive, or the end of another grant", "guides/mitigations.md#not-renewed"},
	{"stale-write", "no-notice", nil, "the library did not report the loss, and its client wrote",
		"have the library count the lease, or the session, by the client's own clock, and report the loss when it is over, whether or not the service answers", "guides/mitigations.md#no-notice"},
	{"stale-write", "lease-outlived", struck(none), "the section was longer than the lease",
		"keep sections shorter than the lease or renew it; nothing but fencing at the resource helps when that fails", "concepts/fencing.md"},
	{"stale-write", "lease-outlived", struck(stopped), "the lease ended while its holder was stopped, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "lease-outlived", struck(clientLinks), "the lease ended while its holder's messages were lost or late, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "lease-outlived", struck(refusing), "the lease ended while the service refused to renew it, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "lease-outlived", struck(server), "the lease ended while the service did not answer its holder, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "lease-outlived", struck(resource), "the lease ended while the resource did not answer its holder, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "lease-outlived", nil, "the lease ended while its holder was stopped or cut off, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "delayed", struck(clientLinks), "a write that was sent in time arrived when the lock had gone to another client",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "delayed", nil, "a write that was sent in time arrived when the lock had gone to another client",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "granted-early", nil, "two clients held the lock at once, and both wrote",
		"look at why the second was granted it; fencing at the resource keeps the first one's writes out", "guides/mitigations.md#one-step"},
	{"stale-write", "never-held", nil, "the lease was over before the client learnt that it had it",
		"count the lease from before the request was sent, and begin nothing with one that is over", "guides/mitigations.md#late-grant"},
	{"stale-write", "renewed-late", nil, "a lease that had ended was renewed, although another client had held the lock meanwhile",
		"refuse to renew a lease that has ended: the client must acquire the lock again", "guides/mitigations.md#renewing"},
	{"stale-write", "after-release", nil, "a write of unknown outcome was carried out after its client had released the lock",
		"do not release before the outcome is known, or fence the resource so that an old token is refused", "guides/mitigations.md#after-release"},
	{"stale-write", "given-back", nil, "the client wrote after it had given the lock back",
		"end the critical section before the lock is released: wait for all that writes in it", "guides/mitigations.md#given-back"},
	{"stale-write", "ignored-loss", nil, "the client went on writing after its library had reported the lock lost",
		"end the critical section when the library reports the loss: cancel its context", "guides/mitigations.md#ignored-loss"},
	{"stale-write", "interleaved", nil, "two critical sections ran into each other",
		"look at how both came to be granted the lock; fencing at the resource keeps one of them out", "concepts/fencing.md"},
	{"stale-write", "", struck(failed), "the service dropped the lock when its server failed, and the client wrote all the same",
		"let the lock tell its client of the loss, and fence the resource", "concepts/fencing.md"},
	{"stale-write", "", struck(stopped), "the lock went to another client while its holder was stopped, and it wrote all the same",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"stale-write", "", nil, "a client wrote after the lock had gone to another one",
		"let the lock tell its client of the loss, and fence the resource", "concepts/fencing.md"},

	{"lost-update", "not-renewed", nil, "the library stopped renewing the lease, and its client overwrote what it had not seen",
		"look at what ends the library's watchdog: an error that it does not survive, or the end of another grant", "guides/mitigations.md#not-renewed"},
	{"lost-update", "no-notice", nil, "the library did not report the loss, and its client overwrote what it had not seen",
		"have the library count the lease, or the session, by the client's own clock, and report the loss when it is over, whether or not the service answers", "guides/mitigations.md#no-notice"},
	{"lost-update", "lease-outlived", struck(none), "the section was longer than the lease",
		"keep sections shorter than the lease or renew it; nothing but fencing at the resource helps when that fails", "concepts/fencing.md"},
	{"lost-update", "lease-outlived", struck(stopped), "the lease ended while its holder was stopped, and what it wrote was computed from an old value",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "lease-outlived", struck(clientLinks), "the lease ended while its holder's messages were lost or late, and what it wrote was computed from an old value",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "lease-outlived", struck(refusing), "the lease ended while the service refused to renew it, and what it wrote was computed from an old value",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "lease-outlived", struck(server), "the lease ended while the service did not answer its holder, and what it wrote was computed from an old value",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "lease-outlived", struck(resource), "the lease ended while the resource did not answer its holder, and what it wrote was computed from an old value",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "lease-outlived", nil, "the lease ended while its holder was stopped or cut off, and what it wrote was computed from an old value",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "delayed", nil, "a write that was sent in time arrived when the lock had gone to another client",
		"only fencing at the resource helps", "concepts/fencing.md"},
	{"lost-update", "granted-early", nil, "two clients held the lock at once, and one overwrote what the other had written",
		"look at why the second was granted it; fencing at the resource keeps the first one's writes out", "guides/mitigations.md#one-step"},
	{"lost-update", "never-held", nil, "the lease was over before the client learnt that it had it",
		"count the lease from before the request was sent, and begin nothing with one that is over", "guides/mitigations.md#late-grant"},
	{"lost-update", "renewed-late", nil, "a lease that had ended was renewed, although another client had held the lock meanwhile",
		"refuse to renew a lease that has ended: the client must acquire the lock again", "guides/mitigations.md#renewing"},
	{"lost-update", "after-release", nil, "a write of unknown outcome was carried out after its client had released the lock",
		"do not release before the outcome is known, or fence the resource so that an old token is refused", "guides/mitigations.md#after-release"},
	{"lost-update", "interleaved", nil, "two critical sections ran into each other, and one overwrote what it had not seen",
		"look at how both came to be granted the lock; fencing at the resource keeps one of them out", "concepts/fencing.md"},
	{"lost-update", "given-back", nil, "the client wrote after it had given the lock back",
		"end the critical section before the lock is released: wait for all that writes in it", "guides/mitigations.md#given-back"},
	{"lost-update", "ignored-loss", nil, "the client went on writing after its library had reported the lock lost",
		"end the critical section when the library reports the loss: cancel its context", "guides/mitigations.md#ignored-loss"},
	{"lost-update", "", unlocked, "an update was computed from a value that others had changed meanwhile",
		"let the resource compare what was read in the same step that writes, or take a lock", "guides/mitigations.md#one-step"},
	{"lost-update", "", nil, "a client overwrote an update that it had not seen",
		"read and write under one grant, and fence reads, too", "concepts/fencing.md"},

	{"nonlinearizable", "read", nil, "a read did not show the latest write: the resource, not the lock, answers with old values",
		"read from the primary, or with the store's strongest consistency", "guides/mitigations.md#the-resource"},
	{"nonlinearizable", "unwritten", nil, "a read showed what nobody had written", "look at the resource: something else writes to it", "guides/mitigations.md#the-resource"},
	{"nonlinearizable", "order", nil, "the resource carried operations out in another order than they were answered in",
		"acknowledge a write only when all later reads will show it", "guides/mitigations.md#the-resource"},
	{"nonlinearizable", "vanished", nil, "the resource acknowledged a write and lost it", "have writes on disk and on a majority before they are acknowledged", "guides/mitigations.md#the-resource"},
	{"nonlinearizable", "unlogged", nil, "the resource answered a read that its log does not hold", "log every read in the step that carries it out, or log no read at all", "guides/mitigations.md#the-resource"},
	{"nonlinearizable", "failed", nil, "a write was reported to its client as failed, and it took effect",
		"report an outcome that is not known as unknown (info), never as a failure", "guides/mitigations.md#the-resource"},
	{"nonlinearizable", "twice", nil, "one write was carried out twice", "let the resource recognise a repeated request", "guides/mitigations.md#the-resource"},

	{"false-rejection", "token-regression", nil, "the tokens are out of order, so the resource refused the rightful holder",
		"draw the token in the same step that takes the lock", "guides/mitigations.md#tokens"},
	{"false-rejection", "no-token", nil, "the grant has no token, which the resource may have asked for",
		"give every grant a token, drawn in the same step that takes the lock", "guides/mitigations.md#tokens"},
	{"false-rejection", "", nil, "the resource refused the rightful holder", "look at the rule: an equal token is the same holder's, unless the fencing mode is strict", "concepts/fencing.md#fencing-modes"},

	{"deadlock", "", struck(serverClock), "the lease is counted by the service's clock, which was set back: it ends when that clock has caught up",
		"count leases by a clock that nobody sets", "internals/clock.md"},
	{"deadlock", "crashed-holder", renewed, "the lock of a holder that crashed stays taken after the lease that its last renewal promised: renewals add up, or take the expiry away",
		"let a renewal set how long the lock lasts from then on, and add nothing to it", "guides/mitigations.md#crashed-holder"},
	{"deadlock", "crashed-holder", setBack, "the lock of a holder that crashed stays taken: nobody frees it, or its expiry is counted by the service's clock, which was set back",
		"give the lock an expiry in the same step that takes it, counted by a clock that nobody sets, or bind it to a session", "guides/mitigations.md#crashed-holder"},
	{"deadlock", "crashed-holder", clientAhead, "the lock of a holder that crashed stays taken: nobody frees it, or its client wrote down when it ends, by a clock that was ahead",
		"let the service count the lease: give the lock an expiry, not a time at which it ends, in the same step that takes it", "guides/mitigations.md#crashed-holder"},
	{"deadlock", "crashed-holder", ofLease, "the lock of a holder that crashed stays taken after the lease that it was promised: what was taken has no such expiry, or something renews it still",
		"give all that a client takes the expiry that it counts on, in the same step; end a watchdog with its grant, and let it renew only what is still its client's", "guides/mitigations.md#crashed-holder"},
	{"deadlock", "crashed-holder", nil, "nobody frees the lock of a holder that crashed",
		"give the lock an expiry in the same step that takes it, or bind it to a session", "guides/mitigations.md#crashed-holder"},
	{"deadlock", "lost-acquire", nil, "an acquire that was not answered may have taken the lock, or a place in its queue, and nothing frees it",
		"give the lock, and a place in its queue, an expiry in the same step that takes it, or bind it to a session that ends with the attempt", "guides/mitigations.md#lost-acquire"},
	{"deadlock", "lost-release", nil, "the release of the last holder failed or was not answered, and nothing else frees the lock: it has no expiry, or its library goes on renewing it",
		"repeat a release until it is answered, renew nothing once it was asked for, and give the lock an expiry or bind it to a session", "guides/mitigations.md#lost-release"},
	{"deadlock", "lost-hold", nil, "the lock answered its last holder that it no longer held it, and yet no other client gets it",
		"if a part of a lock is lost, free the other parts and stop renewing them; let waiters look again when a hold ends without a release", "guides/mitigations.md#lost-hold"},
	{"deadlock", "lost-wake-up", nil, "another client that asked was granted the lock at once: the one that waited missed a notice, or what a release left behind kept it out",
		"let a client that waits look again when the lease that it waits for is over, and after each lost connection; if it does, look at what a late or refused release leaves behind", "guides/mitigations.md#lost-wake-up"},
	{"deadlock", "own-again", nil, "the client that had the lock last was granted it again at once, and no other is: its release may have left the lock with its connection or session, or the one that waits missed a notice",
		"release on the connection, and in the session, that took the lock, and check what the release answers; let a client that waits look again", "guides/mitigations.md#own-again"},
	{"deadlock", "given-up", nil, "nobody gets the lock after a client gave up waiting for it: its place in the queue may have stayed",
		"let a client that gives up leave the queue, and bind its place to a session that ends with the attempt", "guides/mitigations.md#stuck-queue"},
	{"deadlock", "cancelled", nil, "nobody gets the lock after a client cancelled its acquire: what that had taken, or its place in the queue, has stayed",
		"if an acquire is interrupted or its task ends, give back what the request under way may still take, and leave the queue", "guides/mitigations.md#cancelled"},
	{"deadlock", "never-granted", nil, "the lock was never granted, with no fault injected: it does not work at all, or it is set up wrongly",
		"look at what the servers answer it; of a program of your own, picklock lock check 'COMMAND' says which step fails", "guides/mitigations.md#never-granted"},
	{"deadlock", "", struck(clientLinks), "nobody gets the lock after messages of a client were lost or late: an earlier request of the one that waits may stand before it, or the notice that the lock is free did not reach it",
		"before asking again, look for what the first request has left behind; after a lost connection, look again whether the lock is free", "guides/mitigations.md#asked-again"},
	{"deadlock", "", nil, "nobody holds the lock, and nobody gets it",
		"give waiters a time limit after which they look again, and let a lost session leave the queue", "guides/mitigations.md#stuck-queue"},
	{"not-freed", "crashed-holder", nil, "the share of a client that crashed keeps the lock for as long as others hold theirs: all have one expiry, or a renewal renews them all",
		"give each client's share an expiry of its own, and let a renewal touch its own client's only", "guides/mitigations.md#not-freed"},
	{"not-freed", "", struck(clientLinks), "the lock counts a request whose answer was lost, and its release frees only what was asked for once more; the rest stays taken until the lease ends",
		"make a repeated request harmless, by an owner's name of its own for each attempt, and let the release free all that the client has", "guides/mitigations.md#not-freed"},
	{"not-freed", "", nil, "a release is confirmed and frees nothing, or not all: the lock stays taken until the lease ends",
		"delete the key, of the name and owner that the acquire wrote, and look at the service's answer before the release is confirmed", "guides/mitigations.md#not-freed"},
	{"starvation", "", nil, "others were served again and again while a client waited", "serve waiters in the order in which they came", "guides/mitigations.md#stuck-queue"},

	{"two-holders", "not-renewed", nil, "the library stopped renewing the lease, and its client went on",
		"look at what ends the library's watchdog: an error that it does not survive, or the end of another grant", "guides/mitigations.md#not-renewed"},
	{"two-holders", "no-notice", nil, "the library did not report the loss, and its client went on",
		"have the library count the lease, or the session, by the client's own clock, and report the loss when it is over, whether or not the service answers", "guides/mitigations.md#no-notice"},
	{"two-holders", "lease-outlived", struck(none), "the section was longer than the lease",
		"keep sections shorter than the lease, or renew it", "guides/mitigations.md#two-holders"},
	{"two-holders", "lease-outlived", struck(stopped), "the lease ended while its holder was stopped, and it could not know",
		"no lease can prevent this: fencing at the resource makes it harmless", "concepts/fencing.md"},
	{"two-holders", "lease-outlived", struck(clientLinks), "the lease ended while its holder's messages were lost or late, and it could not know",
		"no lease can prevent this: fencing at the resource makes it harmless", "concepts/fencing.md"},
	{"two-holders", "lease-outlived", struck(refusing), "the lease ended while the service refused to renew it, and it went on",
		"no lease can prevent this: fencing at the resource makes it harmless", "concepts/fencing.md"},
	{"two-holders", "lease-outlived", struck(server), "the lease ended while the service did not answer its holder, and it could not know",
		"no lease can prevent this: fencing at the resource makes it harmless", "concepts/fencing.md"},
	{"two-holders", "lease-outlived", struck(resource), "the lease ended while the resource did not answer its holder, and it could not know",
		"no lease can prevent this: fencing at the resource makes it harmless", "concepts/fencing.md"},
	{"two-holders", "lease-outlived", nil, "the lease ended while its holder was stopped or cut off, and it could not know",
		"no lease can prevent this: fencing at the resource makes it harmless", "concepts/fencing.md"},
	{"two-holders", "granted-early", nil, "the service gave the lock away while another client's lease had time left",
		"taking, renewing and releasing must each be one step that compares the owner", "guides/mitigations.md#one-step"},
	{"two-holders", "never-held", nil, "the lease was over before the client learnt that it had it",
		"count the lease from before the request was sent, and begin nothing with one that is over", "guides/mitigations.md#late-grant"},
	{"two-holders", "", nil, "two clients believed that they held the lock, and no lease that it promised says which of them still did",
		"let the lock tell its client of the loss, and fence the resource", "guides/mitigations.md#two-holders"},
}

// adviceOn is what the table says of a group. A kind that it does not know has none.
func adviceOn(s seen) (advice, bool) {
	for _, a := range advices {
		if a.anomaly != s.group.Name || a.cause != "" && a.cause != s.group.Cause {
			continue
		}
		if a.fits != nil {
			figure, ok := a.fits(s)
			if !ok {
				continue
			}
			a.says = strings.ReplaceAll(a.says, "%", figure)
		}
		return a, true
	}
	return advice{}, false
}
