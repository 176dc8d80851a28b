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
			blamed := an.suspects.tokens[p.newer]
			a := Anomaly{
				Cause: an.wentBack.cause(p.newer, blamed),
				Key:   k.name, Time: p.newer.okT,
				Grants: []string{p.older.id, p.newer.id}, Events: an.evidence.at(append(p.givenUp(), p.older.ok, p.newer.ok)...),
				Sizes: map[string]int64{"apart": p.newer.okT - p.older.okT},
				Explanation: fmt.Sprintf("%s was granted token %d at %s, which %s had been granted %s before",
					p.newer.process, p.newer.token, format.Instant(p.newer.okT), p.older.process, dur(p.newer.okT-p.older.okT)),
			}
			out = append(out, an.evidence.finish(a, p.older.okT, blamed, p.older.process, p.newer.process))
		}
	}
	return out
}

// givenUp is the event by which the client of both grants let the older one go, where nothing else ended that: without it
// the client may have been given back what it held.
func (p grantPair) givenUp() []int32 {
	g := p.older
	switch {
	case g.process != p.newer.process, g.lease > 0 && !g.mayLast(p.newer.lo):
		return nil
	case g.release != nil:
		return []int32{g.release.comp}
	case g.lost >= 0:
		return []int32{g.lost}
	}
	return nil
}
