package checker

import (
	"cmp"
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// judgeLiveness: is the lock granted when it is free?
func judgeLiveness(an *analysis, anomalies int) Property {
	last, began := int64(-1), int64(-1) // when a fault was on for the last time, and when the last one began
	open := ""
	for _, f := range an.faults.list {
		if f.confirmed && f.name != Stall {
			last, began = max(last, f.end), max(began, f.begin)
			if !f.ended {
				open = "fault " + f.name + " was never healed"
				if f.stays != "" {
					open += " (" + f.stays + ")"
				}
			}
		}
	}
	after, meanwhile, inVain := 0, 0, 0 // grants; and requests that were not granted
	for _, k := range an.locks {
		for _, g := range k.grants {
			if g.okT > last {
				after++
			} else if g.okT > began {
				meanwhile++
			}
		}
		inVain += len(k.acquires)
	}
	// Nobody has to ask any more if all were served while the fault was still on.
	served := last >= 0 && after == 0 && meanwhile > 0 && inVain == 0
	failed := an.failed
	switch {
	case anomalies > 0:
		return Property{Required: true, Why: counted(anomalies)}
	case failed != "":
		return Property{Valid: Unknown, Required: true, Why: failed}
	case an.stats.Grants == 0:
		why := "the lock was never granted"
		if o := heldForGood(an, last); o != nil {
			why += fmt.Sprintf(": the acquire of %s at %s has no known outcome, and may have taken it; no grant shows that a lease ends", o.process, format.Instant(o.invT))
		}
		return Property{Valid: Unknown, Required: true, Why: why}
	case last >= 0 && after == 0 && open != "":
		return Property{Valid: Unknown, Required: true, Why: open + ", so nothing shows that the lock comes back"}
	case last >= 0 && after == 0 && !served:
		why := "the run was too short to tell whether the lock comes back"
		if n := an.faults.stallsAfter(last); n > 0 {
			why = fmt.Sprintf("this machine stalled %s after that, which excuses it: run it again on a quieter one", of(n, "time"))
		} else if o := heldForGood(an, last); o != nil {
			why = fmt.Sprintf("the acquire of %s at %s has no known outcome, and may have taken the lock, which has no lease that would end", o.process, format.Instant(o.invT))
		}
		return Property{Valid: Unknown, Required: true, Why: "no grant came after the last fault was healed: " + why}
	}
	if why := cmp.Or(keptForGood(an), askedSeldom(an)); why != "" {
		return Property{Valid: Unknown, Required: true, Why: why}
	}
	if an.stats.Contested == 0 && !an.freedAtOnce() {
		return Property{Valid: Unknown, Required: true, Why: contention(an) + ": " + whyUncontested(an, "nobody had to wait for the lock") + ", so nothing was tried"}
	}
	if why := unanswered(an); why != "" {
		return Property{Valid: Unknown, Required: true, Why: why}
	}
	if served {
		return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s since the last fault began, and every client that asked was granted the lock before that was healed", of(meanwhile, "grant"))}
	}
	if last >= 0 {
		return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s after the last fault was healed; a lock that nobody held was never refused for longer than %s", of(after, "grant"), dur(an.opt.Bound))}
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s; a lock that nobody held was never refused for longer than %s", of(after, "grant"), dur(an.opt.Bound))}
}

// heldForGood is an acquire of unknown outcome that may have taken a lock without leases, and for longer than the bound after the
// last fault; nil for none. It is the first such since the lock's last grant, or before that: a request of then may have
// waited in line behind that grant.
func heldForGood(an *analysis, last int64) *op {
	if an.maxLease > 0 || an.last-last <= an.opt.Bound {
		return nil
	}
	var before *op
	for _, k := range an.locks {
		granted := int64(-1)
		if n := len(k.grants); n > 0 {
			granted = k.grants[n-1].okT
		}
		for _, o := range k.acquires {
			switch {
			case o.typ == tFail || an.last-o.endT <= an.opt.Bound:
			case o.endT > granted:
				return o
			case before == nil:
				before = o
			}
		}
	}
	return before
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
