package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// formerWords say of grants of which another client's came too early that the client of a single one had been killed as the lock's holder before
// it was granted it anew: what ends the first of the two may end the second as well. "" if not.
func (an *analysis) formerWords(older []*grant) string {
	g := older[0]
	if len(older) > 1 || g.n == 0 {
		return ""
	}
	former := g.lock.grants[g.n-1]
	if former.process != g.process {
		return ""
	}
	f := crashed(an, former)
	if f == nil {
		return ""
	}
	return fmt.Sprintf("; %s had been killed at %s while it held the lock under %s: the lock may take its new process for the old one, so that what ends the old grant ends the new one",
		g.process, format.Instant(f.begin), former.id)
}
