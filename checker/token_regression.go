package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["token-regression"] = findTokenRegression }

// findTokenRegression: a grant that was certainly given later carries the smaller
// token, so a resource that trusts tokens refuses the rightful holder and lets
// the other one in.
func findTokenRegression(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		for p := range inTime(an.limit, an.tokens.regressed[k]) {
			blamed := an.suspects.tokens[p.newer]
			a := Anomaly{
				Cause: an.wentBack.cause(p.newer, blamed),
				Key:   k.name, Time: p.newer.okT,
				Grants: []string{p.older.id, p.newer.id}, Events: an.evidence.at(p.older.ok, p.newer.ok, p.newer.loEvidence()),
				Sizes: map[string]int64{"apart": p.newer.lo - p.older.okT},
				Explanation: fmt.Sprintf("%s was granted token %d by %s, although %s had been granted the greater token %d at least %s earlier",
					p.newer.process, p.newer.token, format.Instant(p.newer.okT), p.older.process, p.older.token, dur(p.newer.lo-p.older.okT)),
			}
			out = append(out, an.evidence.finish(a, p.older.okT, blamed, p.older.process, p.newer.process))
		}
	}
	return out
}
