package checker

import "fmt"

// renewedMeanwhile is the cause of two leases at once if the older client's renewal was under way when the newer client was granted the lock, and was answered as if the
// lock were still the older one's: looking at whose it is and extending the lease may be two steps.
const renewedMeanwhile = "renewed-meanwhile"

// renewedMeanwhile says so of a renewal that met the other client's lease.
func (c *earlyCase) renewedMeanwhile() (reason, bool) {
	g, by := c.newer, c.older[0]
	n := g.renewed.before(c.from)
	if !c.renewed || !g.lock.mutex() || n == 0 {
		return reason{}, false
	}
	r := g.renewals()[n-1]
	if r.inv < 0 || r.okT != c.from || r.invT > by.okT || r.okT <= by.lo {
		return reason{}, false
	}
	words := fmt.Sprintf("; that renewal was under way when %s was granted the lock: it extended what was no longer %s's, or the lock was granted too early", by.process, g.process)
	return reason{cause: renewedMeanwhile, words: words, refs: []int32{r.inv}}, true
}
