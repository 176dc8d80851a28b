package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// formerWords say of grants of which another client's came too early that the client of a single one had been killed as the lock's holder before
// it was granted it anew: what ends the first of the two may end the second as well. "" if not.
func (an *analysis) formerWords(older []*grant) string {
	g := older[0]
	if len(older) > 1 {
		return ""
	}
	former := g.latestOwn()
	if former == nil {
		return ""
	}
	f := crashed(an, former)
	if f == nil {
		return ""
	}
	return fmt.Sprintf("; %s had been killed at %s while it held the lock under %s: the lock may take its new process for the old one, so that what ends the old grant ends the new one",
		g.process, format.Instant(f.begin), former.id)
}

// latestOwn is the grant of the lock that its client had before this one, however many others had it in between; nil if there is none
// near.
func (g *grant) latestOwn() *grant {
	before := g.lock.grants[:g.n]
	for _, o := range slices.Backward(before[max(0, len(before)-maxBetween):]) {
		if o.process == g.process {
			return o
		}
	}
	return nil
}
