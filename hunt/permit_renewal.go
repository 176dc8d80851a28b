package hunt

// renews is the workload of a client that extends its lease, and works for nearly as long as that promises.
const renews = "renew"

// renewsSoon is the workload of a client that extends its lease soon after it was granted: a library may take that for too soon, and not send it.
const renewsSoon = "renews-soon"

// renewedPermit are its programs for a semaphore: who waits gets A's permit if the renewal did not keep that. They are nil if there are
// too few clients.
func renewedPermit(t Target) []string {
	return othersTakeTheRest(t, renews, "acquire, read, work 0.6 leases, renew, work 0.85 leases, release", "acquire, read, release")
}

// renewsBeside is the workload of a semaphore whose client renews its permit when another one has given its own back: a release that frees
// whichever permit is first, or all of them, shows by that alone as long as no more clients ask than there are permits.
const renewsBeside = "renews-beside"

// renewedBeside are its programs.
func renewedBeside() []string {
	return []string{renewsBeside,
		"acquire, read, await after B's release or 0.7 leases, renew, work 0.3 leases, release",
		"await A granted or 3 leases, acquire, read, work 0.1 leases, release",
	}
}
