package checker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// downgradeGap is the cause of a share that a writer was granted beside another writer: it had the lock when it asked to go on to read, and the
// other one was granted the lock before the answer. Giving the lock back and sharing it were two steps.
const downgradeGap = "downgrade-gap"

// gap is a downgrade that let another client in.
type gap struct {
	writer    *grant // what its client had before
	downgrade *op    // its end
	by        *grant // who got in
}

// gaps is such downgrades by the grants that met others.
type gaps map[*grant]gap

// gapBefore finds the downgrade by which a client shares a lock that another one had been granted meanwhile; false if there is none. What a server
// forgot, or its clock ended, needs no gap.
func (l *faultLog) gapBefore(older []*grant, newer *grant) (gap, bool) {
	by := older[0]
	if len(older) > 1 || newer.mode != shared || by.mode != exclusive || by.process == newer.process {
		return gap{}, false
	}
	list := newer.lock.grants
	for _, w := range slices.Backward(list[max(0, int(newer.n)-maxBetween):newer.n]) {
		o := w.release
		if w.process != newer.process || o == nil || !o.downgrades || o.comp != newer.ok {
			continue
		}
		had := o.invT < by.okT && (w.hasNoLease() || w.promisedBy(o.invT) > by.okT)
		return gap{w, o, by}, had && !slices.ContainsFunc(l.service.latest(nil, w.lo, newer.okT), (*fault).concernsOthers)
	}
	return gap{}, false
}

// newGaps finds them. A lock that lets clients in at other times as well has
// another bug; what met one of these grants came of it.
func newGaps(o *overlaps, faults *faultLog) gaps {
	out, part := gaps{}, map[*grant]bool{}
	look := func(each func(older []*grant, newer *grant, renewed bool)) {
		for _, e := range o.early {
			each(e.older, e.newer, e.renewed)
		}
		for _, d := range o.doubles {
			each(d.older, d.newer, false)
		}
	}
	look(func(older []*grant, newer *grant, renewed bool) {
		if g, ok := faults.gapBefore(older, newer); ok && !renewed {
			out[newer], part[newer], part[g.by] = g, true, true
		}
	})
	if len(out) == 0 {
		return nil
	}
	without := map[*lock]bool{}
	look(func(older []*grant, newer *grant, _ bool) {
		if !part[newer] && !slices.ContainsFunc(older, func(g *grant) bool { return part[g] }) {
			without[newer.lock] = true
		}
	})
	maps.DeleteFunc(out, func(g *grant, _ gap) bool { return without[g.lock] })
	return out
}

// words say when the other client got in.
func (g gap) words() string {
	return fmt.Sprintf("; %s had the lock for itself alone when it asked at %s to share it, and %s was granted the lock before the answer",
		g.writer.process, format.Instant(g.downgrade.invT), g.by.process)
}

// evidence lists the events that show it.
func (g gap) evidence() []int32 {
	return []int32{g.downgrade.inv, g.writer.ok, g.writer.promiseEvidence(g.by.okT)}
}

// downgradeGap says so of an early grant.
func (c *earlyCase) downgradeGap() (reason, bool) {
	d, ok := c.an.gaps[c.newer]
	if !ok {
		return reason{}, false
	}
	return reason{cause: downgradeGap, words: d.words(), refs: d.evidence()}, true
}
