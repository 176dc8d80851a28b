package hunt

// renews is the workload of a client that extends its lease, and works for nearly as long as that promises.
const renews = "renew"

// renewedPermit are its programs for a semaphore: who waits gets A's permit if the renewal did not keep that. They are nil if there are
// too few clients.
func renewedPermit(t Target) []string {
	return othersTakeTheRest(t, renews, "acquire, read, work 0.6 leases, renew, work 0.85 leases, release", "acquire, read, release")
}
