package hunt

import (
	"fmt"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// permitTaken is the workload of a semaphore of which one permit may stay taken: A dies with it, the others that there are
// have the rest for as long as it takes, and one waits. In the other workloads they give theirs back, and who waits gets one of those.
const permitTaken = "permit-taken"

// permitTakenBy are its programs; nil if there are too few clients to have all permits and to wait.
func permitTakenBy(t Target) []string {
	names := t.ClientNames()
	if len(names) <= t.Permits {
		return nil
	}
	last := names[t.Permits]
	out := []string{permitTaken, "acquire, read, work 0.3 leases, release"}
	for i := 1; i < t.Permits; i++ {
		out = append(out, fmt.Sprintf("await %s granted or 3 leases, acquire, read, await %s done or 30 leases, release", names[i-1], last))
	}
	return append(out, fmt.Sprintf("await %s granted or 3 leases, acquire, read, release", names[t.Permits-1]))
}

// permitRenewed is the same where the others renew theirs again and again: if all permits have one expiry, or a renewal renews them all, what A
// had stays taken for as long as they do.
const permitRenewed = "permit-renewed"

// permitRenewedBy are its programs, for a lock that is not kept: of one that is, permitTaken does so.
func permitRenewedBy(t Target) []string {
	out := permitTakenBy(t)
	if out == nil || t.Kept {
		return nil
	}
	out[0] = permitRenewed
	for i := 2; i < len(out)-1; i++ {
		out[i] = fmt.Sprintf("await %s granted or 3 leases, acquire, read, renew for %d leases, release", t.ClientNames()[i-2], t.addUp()+4)
	}
	return out
}

// renewsLate is the workload of a semaphore whose client renews a permit that is over, while all permits are with others.
const renewsLate = "renews-late"

// renewsLateBy are its programs; nil if there are too few clients.
func renewsLateBy(t Target) []string {
	return othersTakeTheRest(t, renewsLate, "acquire, read, work 0.7 leases, work 0.6 leases, renew, work 0.3 leases, release", "acquire, read, work 0.7 leases, release")
}

// othersTakeTheRest is a workload of A in which others take the rest of the permits when it works for the second time, and one more
// waits: it gets A's permit if that ends. It is nil if there are too few clients.
func othersTakeTheRest(t Target, name, first, last string) []string {
	names := t.ClientNames()
	if len(names) <= t.Permits {
		return nil
	}
	out := []string{name, first}
	for range t.Permits - 1 {
		out = append(out, "await A's 2nd work or 3 leases, acquire, read, work 0.9 leases, release")
	}
	return append(out, fmt.Sprintf("await %s granted or 3 leases, %s", names[t.Permits-1], last))
}

// crashWithPermit is that A dies while it has its permit.
func crashWithPermit(f fault, at scenarios.Trigger) bool {
	return f.word == "kill" && f.whom == clientNames[0] && at.At == scenarios.Before && at.Do == history.Release && at.Nth == 1
}
