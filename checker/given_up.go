package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// waiterLeft is the cause of a grant that came right when another client gave up waiting: who stands behind that one in a queue may take its end for the lock's.
const waiterLeft = "given-up"

// gaveUp lists the acquires that ended so, by lock.
type gaveUp map[*lock][]*op

// before is the last one that ended between the older grant and the newer one, if the newer client had waited by then for longer than it did afterwards, and the one that
// gave up had waited, too; nil for none.
func (l gaveUp) before(older, newer *grant) *op {
	k := newer.lock
	list, known := l[k]
	if !known {
		list = k.refusedAcquires(inQueue)
		l[k] = list
	}
	o := lastBy(list, newer.okT)
	if o == nil || newer.inv < 0 || o.process == newer.process || o.process == older.process || o.endT <= older.okT {
		return nil
	}
	if after := newer.okT - o.endT; after > prompt || o.endT-newer.invT <= waitedMore*after {
		return nil
	}
	return o
}

// gaveUpWords say so of a client's acquire.
func (o *op) gaveUpWords(newer *grant) string {
	return fmt.Sprintf("; right before, at %s, %s had given up waiting for it: %s, which waited as well, may have taken that for its own turn", format.Instant(o.endT), o.process, newer.process)
}

// givenUp says so of an early grant.
func (c *earlyCase) givenUp() (reason, bool) {
	if c.renewed || !c.newer.lock.mutex() {
		return reason{}, false
	}
	o := c.an.gaveUp.before(c.older[0], c.newer)
	if o == nil {
		return reason{}, false
	}
	return reason{cause: waiterLeft, words: o.gaveUpWords(c.newer), refs: []int32{o.inv, o.comp, c.newer.inv}}, true
}
