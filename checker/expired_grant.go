package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["expired-grant"] = findExpiredGrants }

// findExpiredGrants finds grants that were over when their clients got them, by what the library itself tells its user. Such a library counts from before
// the request that was granted, as from its first of many, or does not look. If a fault was on the client or the service meanwhile, or the machine stood
// still, the library may have looked before: that proves nothing.
func findExpiredGrants(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		for g := range inTime(an.limit, k.grants) {
			if !g.expired || g.inv < 0 || an.faults.harmFrom(g, g.invT) <= g.okT {
				continue
			}
			waited := g.okT - g.invT
			a := Anomaly{
				Key: k.name, Time: g.okT, Grants: []string{g.id}, Events: an.evidence.at(g.inv, g.ok), Sizes: map[string]int64{"waited": waited},
				Explanation: fmt.Sprintf("%s was granted the lock %s at %s (%s), %s after it had asked: by what the library tells its user, the lock was over by then",
					g.process, k.name, format.Instant(g.okT), g.id, dur(waited)),
			}
			out = append(out, an.evidence.finish(a, g.invT, blamed{}, g.process))
		}
	}
	return out
}
