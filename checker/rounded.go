package checker

import "time"

// rounded is the cause of a grant that came while almost nothing of the older lease was left.
const rounded = "rounded"

const (
	// millisecond is the unit in which most services and libraries count leases. One that cuts off the rest of the time at
	// which a lease begins ends it up to a unit early.
	millisecond = int64(time.Millisecond)
	// leastRounded is how long a lease has to be, at least, for a millisecond to be next to nothing of it.
	leastRounded = 100 * millisecond
)

// roundedDown says that a lease ended so shortly before its time that the unit in which it is counted explains it.
func roundedDown(sizes map[string]int64) bool {
	left, ok := sizes["remaining"]
	return ok && left < millisecond && sizes["lease"] >= leastRounded
}

// rounded says so of an early grant, if no client was granted the lock before while the same lease had time left.
func (c *earlyCase) rounded() (reason, bool) {
	return reason{cause: rounded}, !c.gone && roundedDown(c.a.Sizes)
}
