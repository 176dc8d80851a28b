package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// evidence is what every anomaly's proof is made of: events, by the numbers that the
// history gives them, and the faults that were on.
type evidence struct {
	places places
	faults *faultLog
}

// at lists the events at places, for a proof; those of -1 are left out.
func (v evidence) at(list ...int32) []int64 { return v.places.at(list...) }

// finish fills in what every anomaly has: sorted proofs, the faults that were on,
// and their mention in the explanation. from is the earliest instant of the proof.
func (v evidence) finish(a Anomaly, from int64, processes ...string) Anomaly {
	for _, p := range processes {
		if !slices.Contains(a.Processes, p) {
			a.Processes = append(a.Processes, p)
		}
	}
	slices.Sort(a.Effects)
	on := v.faults.on(min(from, a.Time), a.Time)
	a.Faults = []string{}
	for _, f := range on {
		if !slices.Contains(a.Faults, f.name) {
			a.Faults = append(a.Faults, f.name)
		}
	}
	slices.Sort(a.Faults)
	a.Explanation += faultWords(on, a.Processes)
	return a
}

// faultWords names the faults that were on, two at most: those on the processes concerned
// first, then those on the service, and last what struck others only.
func faultWords(on []*fault, processes []string) string {
	if len(on) == 0 {
		return ""
	}
	far := func(f *fault) int {
		switch {
		case slices.ContainsFunc(f.nodes, func(n string) bool { return slices.Contains(processes, n) }):
			return 0
		case f.concernsOthers():
			return 1
		}
		return 2
	}
	sorted := slices.Clone(on)
	slices.SortStableFunc(sorted, func(a, b *fault) int { return cmp.Compare(far(a), far(b)) })
	var b strings.Builder
	for i, f := range sorted {
		if i == 2 {
			if n := len(sorted) - 2; n == 1 {
				b.WriteString("; one more fault was on")
			} else {
				fmt.Fprintf(&b, "; %d more faults were on", n)
			}
			break
		}
		of := ""
		if len(f.nodes) > 0 {
			of = " of " + strings.Join(f.nodes, ", ")
		}
		if f.ended {
			fmt.Fprintf(&b, "; %s%s was on from %s to %s", f.name, of, format.Instant(f.begin), format.Instant(f.end))
		} else {
			fmt.Fprintf(&b, "; %s%s was on from %s", f.name, of, format.Instant(f.begin))
		}
	}
	return b.String()
}
