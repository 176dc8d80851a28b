package checker

import "fmt"

// judgeLiveness: is the lock granted when it is free?
func judgeLiveness(an *analysis, anomalies int) Property {
	last := int64(-1)
	open := ""
	for _, f := range an.faults.list {
		if f.confirmed && f.name != Stall {
			last = max(last, f.end)
			if !f.ended {
				open = "fault " + f.name + " was never healed"
				if f.stays != "" {
					open += " (" + f.stays + ")"
				}
			}
		}
	}
	after := 0
	for _, k := range an.locks {
		for _, g := range k.grants {
			if g.okT > last {
				after++
			}
		}
	}
	failed := an.failed
	switch {
	case anomalies > 0:
		return Property{Required: true, Why: counted(anomalies)}
	case failed != "":
		return Property{Valid: Unknown, Required: true, Why: failed}
	case an.stats.Grants == 0:
		return Property{Valid: Unknown, Required: true, Why: "the lock was never granted"}
	case last >= 0 && after == 0 && open != "":
		return Property{Valid: Unknown, Required: true, Why: open + ", so nothing shows that the lock comes back"}
	case last >= 0 && after == 0:
		why := "the run was too short to tell whether the lock comes back"
		if n := an.faults.stallsAfter(last); n > 0 {
			why = fmt.Sprintf("this machine stalled %s after that, which excuses it: run it again on a quieter one", of(n, "time"))
		}
		return Property{Valid: Unknown, Required: true, Why: "no grant came after the last fault was healed: " + why}
	case an.stats.Contested == 0:
		return Property{Valid: Unknown, Required: true, Why: contention(an) + ": nobody had to wait for the lock, so nothing was tried"}
	}
	if why := unanswered(an); why != "" {
		return Property{Valid: Unknown, Required: true, Why: why}
	}
	if last >= 0 {
		return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s after the last fault was healed; a lock that nobody held was never refused for longer than %s", of(after, "grant"), dur(an.opt.Bound))}
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s; a lock that nobody held was never refused for longer than %s", of(after, "grant"), dur(an.opt.Bound))}
}

// stallsAfter is how often this machine stalled after t.
func (l *faultLog) stallsAfter(t int64) int {
	n := 0
	for _, f := range l.list {
		if f.name == Stall && f.end > t {
			n++
		}
	}
	return n
}
