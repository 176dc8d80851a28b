package hunt

// A client may hold two keys at once, by one session, one watchdog or one timer for both. What ends that for one key ends it for the other, too, or
// keeps what was given back.

// The workloads of a client with two keys. In otherReleased it gives the second one back and goes on
// with the first, in otherKept it gives the first one back.
const (
	otherReleased = "other-released"
	otherKept     = "other-kept"
)

// withOther are their programs, for a lock that a client can hold under several keys. C asks for A's second key.
func withOther(t Target) [][]string {
	if !t.Several || t.Permits > 1 {
		return nil
	}
	works, waits := "work 0.7 leases, ", "2 leases"
	if t.Kept {
		works, waits = "work 2.5 leases, ", "3.5 leases"
	}
	return [][]string{
		{otherReleased,
			"acquire, read, acquire other, work 0.1 leases, release other, " + works + "write, release",
			"await A granted or 3 leases, acquire, read, work 0.2 leases, write, release",
			"await after A's 2nd acquire or 3 leases, acquire key 2, read, work 0.3 leases, write, release"},
		{otherKept,
			"acquire, read, acquire other, write, release, await C granted or " + waits + ", release other",
			"await A granted or 3 leases, acquire, read, work 0.3 leases, write, release",
			"await after A's release or 3 leases, acquire key 2, read, work 0.2 leases, write, release"},
	}
}
