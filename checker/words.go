package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// clock writes an instant: "4.812 s".
func clock(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

// dur writes a length of time with the digits that matter: "1.3 s", "40 ms".
func dur(ns int64) string {
	switch {
	case ns < -never:
		return "-" + dur(never)
	case ns < 0:
		return "-" + dur(-ns)
	case ns >= 1e9:
		return digits(float64(ns)/1e9) + " s"
	case ns >= 1e6:
		return digits(float64(ns)/1e6) + " ms"
	case ns >= 1e3:
		return digits(float64(ns)/1e3) + " us"
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

func digits(v float64) string {
	places := 1
	if v < 10 {
		places = 2
	}
	s := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// with says by what right a grant's client acted: " with token 33".
func (g *grant) with() string {
	if g.token != 0 {
		return fmt.Sprintf(" with token %d", g.token)
	}
	if g.id != "" {
		return fmt.Sprintf(" under %s", g.id)
	}
	return ""
}

// got says what a grant's client was given: "was granted 34".
func (g *grant) got() string {
	if g.token != 0 {
		return fmt.Sprintf("%s was granted %d", g.process, g.token)
	}
	if g.id != "" {
		return fmt.Sprintf("%s was granted the lock (%s)", g.process, g.id)
	}
	return fmt.Sprintf("%s was granted the lock", g.process)
}

// leaseWords says how the grant's lease stood at t: "its lease of 1 s had ended
// 0.4 s before".
func (g *grant) leaseWords(whose string, t int64) string {
	if g.promised == 0 {
		return ""
	}
	lease := "lease"
	if g.lease > 0 {
		lease = "lease of " + dur(g.lease)
	}
	switch {
	case g.promised > t:
		return fmt.Sprintf("; %s %s had %s left", whose, lease, dur(g.promised-t))
	case g.promised == t:
		return fmt.Sprintf("; %s %s ended just then", whose, lease)
	}
	return fmt.Sprintf("; %s %s had ended %s before", whose, lease, dur(t-g.promised))
}

// overWords says that the lease was over when its client learnt of the grant.
func (g *grant) overWords() string {
	if g.okT <= g.promised {
		return fmt.Sprintf("; %s's lease of %s was over when it learnt of the grant", g.process, dur(g.lease))
	}
	return fmt.Sprintf("; %s's lease of %s was over %s before it learnt of the grant", g.process, dur(g.lease), dur(g.okT-g.promised))
}

// faultWords names the faults that were on, those of the processes concerned
// first, two at most.
func faultWords(on []*fault, processes []string) string {
	if len(on) == 0 {
		return ""
	}
	concerns := func(f *fault) bool {
		return slices.ContainsFunc(f.nodes, func(n string) bool { return slices.Contains(processes, n) })
	}
	sorted := slices.Clone(on)
	slices.SortStableFunc(sorted, func(a, b *fault) int {
		ca, cb := concerns(a), concerns(b)
		switch {
		case ca && !cb:
			return -1
		case cb && !ca:
			return 1
		}
		return 0
	})
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
			fmt.Fprintf(&b, "; %s%s was on from %s to %s", f.name, of, clock(f.begin), clock(f.end))
		} else {
			fmt.Fprintf(&b, "; %s%s was on from %s", f.name, of, clock(f.begin))
		}
	}
	return b.String()
}

// finish fills in what every anomaly has: sorted proofs, the faults that were on,
// and their mention in the explanation. from is the earliest instant of the proof.
func (ix *index) finish(a Anomaly, from int64, processes ...string) Anomaly {
	for _, p := range processes {
		if !slices.Contains(a.Processes, p) {
			a.Processes = append(a.Processes, p)
		}
	}
	slices.Sort(a.Effects)
	on := ix.faultsOn(min(from, a.Time), a.Time)
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
