package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// discard is why a run of a scenario counts for nothing; the zero value says that it counts.
type discard struct {
	why    string
	missed bool // the trigger of a fault never came
}

// undecided is why, of a run whose verdict is unknown and does not say why.
const undecided = "the verdict is unknown"

// discardOf is why a run on a testbed counts for nothing.
func discardOf(x *hunt.Outcome) discard {
	switch {
	case x.Discarded == "":
		return discard{}
	case x.Busy:
		return discard{why: "this machine was too busy"}
	}
	d := discard{why: x.Discarded, missed: strings.HasPrefix(x.Discarded, scenarios.NeverCame)}
	if x.FailedFault != "" {
		d.why = x.FailedFault + ": " + d.why
	}
	if x.Instead != "" {
		d.why += " (" + x.Instead + ")"
	}
	return d
}

// shownReasons is how many reasons a tally prints.
const shownReasons = 3

// discards says why runs were discarded, the most frequent reason first.
func (t *tally) discards() []string {
	var out []string
	reasons := sortedNames(t.Reasons)
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(t.Reasons[b], t.Reasons[a]) })
	for i, why := range reasons {
		if i == shownReasons {
			return append(out, fmt.Sprintf("and for %d other %s", len(reasons)-i, format.Noun(len(reasons)-i, "reason", "reasons")))
		}
		out = append(out, fmt.Sprintf("%d discarded: %s", t.Reasons[why], why))
	}
	return out
}

// pointless is what to do if no run came to a fault's trigger; "" if one did.
func (t *tally) pointless(lock string) string {
	if t.Runs > 0 || t.missed == 0 || t.missed < t.Discarded {
		return ""
	}
	return fmt.Sprintf("no run came to that trigger: if the lock was mended so that it cannot, this scenario tests nothing on it any more; search for what else breaks it: picklock hunt --lock %s", format.Shell(lock))
}
