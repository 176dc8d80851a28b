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
		out = append(out, an.jointRegressions(k)...)
	}
	return out
}

// jointRegressions accuses the tokens of what they and exclusion break together. The weaker accusation of the two is
// made, and says that it may be the other.
func (an *analysis) jointRegressions(k *lock) []Anomaly {
	var out []Anomaly
	for p := range inTime(an.limit, an.tokens.joint[k]) {
		until := p.newer.endsAfter()
		blamed := an.suspects.tokens[p.newer]
		refs := append(p.newer.evidenceAt(p.newer.okT), p.older.ok, p.newer.ok, p.older.lost)
		if r := p.older.release; r != nil {
			refs = append(refs, r.inv)
		}
		a := Anomaly{
			Cause: orOverlap,
			Key:   k.name, Time: max(p.older.okT, p.newer.okT),
			Grants: []string{p.older.id, p.newer.id}, Events: an.evidence.at(refs...),
			Sizes: map[string]int64{"overlap": until - p.older.okT},
			Explanation: fmt.Sprintf("%s was granted token %d by %s, and %s token %d, whose hold cannot have ended before %s: %s was granted the lock later with the smaller token, or both held it at once",
				p.older.process, p.older.token, format.Instant(p.older.okT), p.newer.process, p.newer.token, format.Instant(until), p.newer.process),
		}
		out = append(out, an.evidence.finish(a, p.older.okT, blamed, p.older.process, p.newer.process))
	}
	return out
}
