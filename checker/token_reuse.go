package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["token-reuse"] = findTokenReuse }

// findTokenReuse: two grants of one lock with the same token, which a resource
// cannot tell apart.
func findTokenReuse(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		for p := range inTime(an.limit, an.tokens.reused[k]) {
			a := Anomaly{
				Key: k.name, Time: p.newer.okT,
				Grants: []string{p.older.id, p.newer.id}, Events: an.evidence.at(p.older.ok, p.newer.ok),
				Sizes: map[string]int64{"apart": p.newer.okT - p.older.okT},
				Explanation: fmt.Sprintf("%s was granted token %d at %s, which %s had been granted %s before",
					p.newer.process, p.newer.token, format.Instant(p.newer.okT), p.older.process, dur(p.newer.okT-p.older.okT)),
			}
			out = append(out, an.evidence.finish(a, p.older.okT, an.suspects.tokens[p.newer], p.older.process, p.newer.process))
		}
	}
	return out
}
