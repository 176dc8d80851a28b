package checker

import (
	"fmt"
	"slices"
	"strings"
)

// judgeExclusion: was the lock ever granted while it was another's?
func judgeExclusion(an *analysis, found map[string]int) Property {
	asked, held := askedWhileHeld(an)
	switch {
	case an.stats.Grants == 0:
		return Property{Valid: Unknown, Required: true, Why: "the lock was never granted"}
	case overlapping(found) != "":
		return Property{Required: true, Why: contention(an) + ": " + overlapping(found)}
	case len(an.tokens.joint) > 0:
		return Property{Valid: Unknown, Required: true, Why: contention(an) + "; no grant is proved early, and the tokens are out of order unless two clients held the lock at once"}
	case held == 0:
		return Property{Valid: Unknown, Why: "how long a grant had to last is not known of any: " + an.uncertainWords()}
	case asked == 0:
		return Property{Valid: Unknown, Why: contention(an) + "; nobody asked for the lock while another client held it for certain, so nothing was tried"}
	}
	why := fmt.Sprintf("%s; %s made while another client held the lock for certain, and ", contention(an), of(asked, "request")) +
		kept(an, "none was granted before that was over", "never was more granted at once than this kind of lock allows")
	if n := an.stats.Grants - held; n > 0 {
		why += fmt.Sprintf("; of %s nothing says how long it had to last once it was learnt of", of(n, "grant"))
	}
	return Property{Valid: True, Required: true, Why: why}
}

// uncertainWords say why of no grant is known how long it had to last.
func (an *analysis) uncertainWords() string {
	over, ended := false, false
	for _, k := range an.locks {
		for _, g := range k.grants {
			over, ended = over || !g.hasNoLease(), ended || g.hasNoLease()
		}
	}
	switch {
	case ended && len(an.faults.list) == 0:
		return "each was over when its client learnt of it"
	case over && ended:
		return "either its lease was over when it was learnt of, or it promises none and a fault was on that can have ended it"
	case over:
		return "each lease was over when its client learnt of the grant, by what the history says"
	default:
		return "none promises a lease, and a fault was on that can have ended it"
	}
}

// overlapping counts what breaks exclusion, by the anomalies' names; "" for nothing.
func overlapping(found map[string]int) string {
	var parts []string
	for _, p := range []struct{ anomaly, noun, what string }{
		{"double-grant", "grant", "made while another client held the lock, which nothing excuses"},
		{"granted-early", "grant", "made while another lease certainly had time left"},
		{"wrong-release", "release", "of another client's lock"},
		{"false-belief", "answer", "that a client holds a lock which another had been granted since"},
		{"revoked-early", "lease", "ended by the service while it certainly had time left"},
		{"false-loss", "report", "of a loss that was none"},
		{"expired-grant", "grant", "that was over by the library's own word"},
	} {
		if n := found[p.anomaly]; n > 0 {
			parts = append(parts, of(n, p.noun)+" "+p.what)
		}
	}
	return strings.Join(parts, "; ")
}

// askedWhileHeld counts the acquires that were under way at some time at which another
// client had the lock for certain: by a lease that was alive, or by all that is known; of
// locks that are no mutex it counts the contested grants.
// A lock that grants what it must not would have granted those. held is the number of
// grants that had the lock for certain at some time.
func askedWhileHeld(an *analysis) (asked, held int) {
	for _, k := range an.locks {
		intervals := an.holdRules.certainHolds(k)
		last := (*grant)(nil)
		for _, p := range intervals {
			if p.g != last {
				held++
			}
			last = p.g
		}
		if !k.mutex() { // a request beside a holder need not wait
			for _, g := range k.grants {
				if g.contested {
					asked++
				}
			}
			continue
		}
		for _, o := range k.acquires {
			if anotherHad(intervals, o.process, o.invT, o.endT) {
				asked++
			}
		}
		for _, g := range k.grants {
			if g.inv >= 0 && anotherHad(intervals, g.process, g.invT, g.okT) {
				asked++
			}
		}
	}
	return asked, held
}

// kept chooses the words for a run with mutexes only, or with others.
func kept(an *analysis, mutex, other string) string {
	if slices.ContainsFunc(an.locks, func(k *lock) bool { return !k.mutex() }) {
		return other
	}
	return mutex
}
