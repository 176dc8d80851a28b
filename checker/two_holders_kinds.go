package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// tooManyHolders is findTwoHolders for a lock that is no mutex.
func tooManyHolders(an *analysis, k *lock, early map[*grant]bool) []Anomaly {
	c := k.capacity()
	if c == nil {
		return nil
	}
	var out []Anomaly
	for g := range inTime(an.limit, k.grants) {
		if g.believedEnd <= g.okT {
			continue
		}
		p := piece{span{g.okT, g.believedEnd}, g}
		if older := c.conflicts(p); older != nil {
			out = append(out, tooMany(an, crowdOf(older, len(out) == 0), g, early[g]))
		}
		c.add(p)
	}
	return out
}

func tooMany(an *analysis, with crowd, newer *grant, early bool) Anomaly {
	a := Anomaly{Key: newer.lock.name, Time: newer.okT, Sizes: map[string]int64{}, More: with.more}
	older := with.older
	until, from := min(newer.believedEnd, with.until), newer.okT
	places, culprit := []int32{newer.ok}, older[0]
	for _, g := range older {
		a.Grants = append(a.Grants, g.id)
		places = append(places, g.ok)
		from = min(from, g.okT)
		if g.promised > 0 && (culprit.promised == 0 || g.promised < culprit.promised) {
			culprit = g // the one whose lease ended first
		}
	}
	a.Grants, a.Processes = append(a.Grants, newer.id), processesOf(older)
	a.Events = an.evidence.at(places...)
	a.Sizes["overlap"] = until - newer.okT
	all := "both believed it"
	switch {
	case with.n() > 1:
		a.Explanation = fmt.Sprintf("%s believed that they held all %d permits", with.processes(), with.n())
		all = "all believed it"
	case newer.lock.permits == 1:
		a.Explanation = older[0].process + " still believed that it held the only permit"
	case older[0].mode == shared:
		a.Explanation = older[0].process + " still believed that it shared the lock"
	default:
		a.Explanation = older[0].process + " still believed that it held the lock"
	}
	a.Explanation += fmt.Sprintf(" when %s by %s; %s for %s", newer.gets(), format.Instant(newer.okT), all, dur(a.Sizes["overlap"]))
	late := blame(&a, culprit, newer, early)
	return an.evidence.finish(a, from, an.suspects.believed(a.Cause, late, culprit, newer), newer.process)
}
