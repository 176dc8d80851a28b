package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["two-holders"] = findTwoHolders }

// findTwoHolders finds every grant that came while another client still believed
// that it held the lock: no release invoked, no loss learnt, not killed. It names
// the one that went on believing longest.
func findTwoHolders(an *analysis) []Anomaly {
	early := an.overlaps.earlyGrants()
	var out []Anomaly
	for _, k := range an.locks {
		if !k.mutex() {
			out = append(out, tooManyHolders(an, k, early)...)
			continue
		}
		var longest *grant // believed; one process never holds two at once
		for g := range inTime(an.limit, k.grants) {
			if g.believedEnd <= g.okT {
				continue
			}
			if longest != nil && longest.believedEnd > g.okT {
				out = append(out, twoHolders(an, longest, g, early[g]))
			}
			if longest == nil || g.believedEnd > longest.believedEnd {
				longest = g
			}
		}
	}
	return out
}

func twoHolders(an *analysis, older, newer *grant, early bool) Anomaly {
	overlap := min(older.believedEnd, newer.believedEnd) - newer.okT
	a := Anomaly{
		Key: newer.lock.name, Time: newer.okT,
		Grants: []string{older.id, newer.id},
		Events: an.evidence.at(older.ok, newer.ok),
		Sizes:  map[string]int64{"overlap": overlap},
	}
	a.Explanation = fmt.Sprintf("%s still believed that it held the lock when %s by %s; both believed it for %s",
		older.process, newer.got(), format.Instant(newer.okT), dur(overlap))
	late := blame(&a, older, newer, early || older.aliveAt(newer.okT))
	return an.evidence.finish(a, older.okT, an.suspects.believed(a.Cause, late, older, newer), older.process, newer.process)
}

// blame says why older's client went on believing, or newer's began to; early
// says that the service is to blame. It returns the one of the two that was late, or older.
func blame(a *Anomaly, older, newer *grant, early bool) *grant {
	switch {
	case newer.lease > 0 && newer.promised <= newer.okT:
		a.Cause = "never-held"
		a.Sizes["late"] = newer.okT - newer.promised
		a.Explanation += newer.overWords()
		return newer
	case older.lease > 0 && older.promised <= older.okT:
		a.Cause = "never-held"
		a.Sizes["late"] = older.okT - older.promised
		a.Explanation += older.overWords()
	case early:
		a.Cause = "granted-early"
		a.Sizes["remaining"] = older.aliveUntil(newer.okT) - newer.okT
		a.Explanation += older.leaseWords(older.process+"'s", newer.okT)
	case older.promised > 0 && older.promised <= newer.okT:
		a.Cause = "lease-outlived"
		a.Sizes["late"] = newer.okT - older.promised
		a.Explanation += older.leaseWords(older.process+"'s", newer.okT)
	}
	return older
}
