package hunt

import "fmt"

// renews is the workload of a client that extends its lease, and works for nearly as long as that promises.
const renews = "renew"

// renewedPermit is the same of a semaphore: others take the rest of the permits when A has renewed its own, and have them until A is nearly done, and one
// more waits. It gets A's permit if the renewal did not keep that. There is none if there are too few clients.
func renewedPermit(t Target) [][]string {
	names := t.ClientNames()
	if len(names) <= t.Permits {
		return nil
	}
	out := []string{renews, "acquire, read, work 0.6 leases, renew, work 0.85 leases, release"}
	for range t.Permits - 1 {
		out = append(out, "await A's 2nd work or 3 leases, acquire, read, work 0.9 leases, release")
	}
	return [][]string{append(out, fmt.Sprintf("await %s granted or 3 leases, acquire, read, release", names[t.Permits-1]))}
}
