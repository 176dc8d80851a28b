package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// rootCause is one group of anomalies in words: what broke first, why, what it led
// to, and the mitigation. The summary, the report and junit.xml show the same.
type rootCause struct {
	Name     string
	Property string
	N        int
	Count    string
	Required bool
	Class    string // as verdict.Class.Title has it; "" where it decides nothing
	Says     string // "" where the cause is not recognised
	Do       string
	Link     string
	At       string // the first one
	Evidence string
	LedTo    string // "13 granted-early and 31 stale-write"
	Then     []consequence
}

type consequence struct {
	Name     string
	Property string
	Count    string
	Required bool
	At       string
	Evidence string
}

// rootCauses puts the verdict's groups into words, in their order.
func rootCauses(run Run, v checker.Verdict) []rootCause {
	var out []rootCause
	groups := v.Groups()
	var cutShort []checker.Anomaly
	for _, g := range groups {
		for _, i := range g.Members {
			if a := v.Anomalies[i]; a.Name == "granted-early" && (a.Cause == "granted-early" || a.Cause == "ended-early") && a.Suspect == nil {
				cutShort = append(cutShort, a)
			}
		}
	}
	slices.SortStableFunc(cutShort, func(a, b checker.Anomaly) int { return cmp.Compare(a.Time, b.Time) })
	for _, g := range groups {
		first := v.Anomalies[g.First]
		r := rootCause{
			Name: clip(g.Name, 60), Property: clip(g.Property, 40), N: g.Count, Count: format.Count(g.Count), Required: g.Required,
			At: format.Instant(first.Time), Evidence: clip(first.Explanation, 2000),
		}
		if g.Required && !run.NoLock {
			r.Class = g.Class().Title()
		}
		s := seen{run: run, group: g, cutShort: cutShort}
		for _, i := range g.Members {
			s.list = append(s.list, v.Anomalies[i])
		}
		if a, ok := adviceOn(s); ok {
			r.Says, r.Do, r.Link = a.says, a.do, docs+a.page
			if by := s.by(); by != "" {
				// Only the same run without the fault could prove it.
				if a.ofFault(s) {
					r.Says += "; probably brought about by " + by
				} else {
					r.Says += "; it probably shows only under " + by
				}
			}
		}
		var certain, perhaps, before []string
		for _, c := range g.LedTo {
			name, a := verdict.Shown(clip(c.Name, 60)), v.Anomalies[c.First]
			r.Then = append(r.Then, consequence{clip(c.Name, 60), clip(c.Property, 40), format.Count(c.Count + c.Perhaps), c.Required, format.Instant(a.Time), clip(a.Explanation, 2000)})
			if c.Count > 0 {
				certain = append(certain, format.Count(c.Count)+" "+name)
			}
			if c.Perhaps > 0 && c.Count == 0 && a.Time < v.Anomalies[g.First].Time {
				before = append(before, format.Count(c.Perhaps)+" "+name)
			} else if c.Perhaps > 0 {
				more := " "
				if c.Count > 0 {
					more = " more "
				}
				perhaps = append(perhaps, format.Count(c.Perhaps)+more+name)
			}
		}
		switch {
		case len(certain) > 0 && len(perhaps) > 0:
			r.LedTo = "which led to " + format.And(certain) + ", perhaps also to " + format.And(perhaps)
		case len(certain) > 0:
			r.LedTo = "which led to " + format.And(certain)
		case len(perhaps) > 0:
			r.LedTo = "which perhaps led to " + format.And(perhaps)
		}
		if len(before) > 0 { // what came first is no consequence
			r.LedTo = strings.TrimPrefix(r.LedTo+"; the same bug perhaps shows in "+format.And(before)+" from before that", "; ")
		}
		out = append(out, r)
	}
	return out
}

// RootCause is one group of anomalies as verdict.json and --json have it.
type RootCause struct {
	checker.Group
	Says       string `json:"says,omitempty"` // what happened, in plain words; "" where the cause is not recognised
	Mitigation string `json:"mitigation,omitempty"`
	Page       string `json:"page,omitempty"` // of the documentation
}

// RootCauses are the verdict's root causes, the deepest first. The list is not nil.
func RootCauses(run Run, v checker.Verdict) []RootCause {
	out := []RootCause{}
	groups := v.Groups()
	for i, r := range rootCauses(run, v) {
		out = append(out, RootCause{Group: groups[i], Says: r.Says, Mitigation: r.Do, Page: r.Link})
	}
	return out
}

// Sentence is the first evidence of the deepest root cause that broke a required
// property; "" where none did.
func Sentence(v checker.Verdict) string {
	for _, g := range v.Groups() {
		if g.Required {
			return v.Anomalies[g.First].Explanation
		}
	}
	return ""
}

// Cause is a root cause of what broke a required property, without its evidence.
type Cause struct {
	Name  string `json:"name"`
	Count int    `json:"count"`            // anomalies, of all runs that are put together
	Says  string `json:"says,omitempty"`   // why, and the mitigation; "" where the cause is not recognised
	LedTo string `json:"led_to,omitempty"` // "which led to 2 stale-write"; "" for nothing, and of several runs
}

// Causes are the root causes of what broke a required property, the deepest first.
func Causes(run Run, v checker.Verdict) []Cause {
	var out []Cause
	for _, r := range rootCauses(run, v) {
		if r.Required {
			out = append(out, r.cause())
		}
	}
	return out
}

func (r rootCause) cause() Cause {
	c := Cause{Name: r.Name, Count: r.N, LedTo: r.LedTo}
	if r.Says != "" {
		c.Says = fmt.Sprintf("%s; mitigation: %s (%s)", r.Says, r.Do, r.Link)
	}
	return c
}

// String is "wrong-release × 10: why; mitigation: what (page); which led to ...".
func (c Cause) String() string {
	s := fmt.Sprintf("%s × %s", c.Name, format.Count(c.Count))
	if c.Says != "" {
		s += ": " + c.Says
	}
	if c.LedTo != "" {
		s += "; " + c.LedTo
	}
	return s
}

// summed are the lines of the first causes, and how many more there are.
func summed(causes []Cause) []string {
	var out []string
	for _, c := range causes[:min(len(causes), maxSummed)] {
		out = append(out, clip(c.String(), 1000))
	}
	if more := len(causes) - len(out); more > 0 {
		out = append(out, plural(more, "more cause", "more causes"))
	}
	return out
}

// withCauses are a cell's causes and those of one more of its runs. What is the same cause is counted together: what it led
// to differs from run to run, and is left out.
func withCauses(all, more []Cause) []Cause {
	all = slices.Clone(all)
	for _, c := range more {
		i := slices.IndexFunc(all, func(o Cause) bool { return o.Name == c.Name && o.Says == c.Says })
		if i < 0 {
			all = append(all, c)
			continue
		}
		all[i].Count += c.Count
		all[i].LedTo = ""
	}
	return all
}

// AdviceOn says of one anomaly of a lock what happened, in plain words, and what prevents it, with the page
// that explains it; "" for what is not known.
func AdviceOn(a checker.Anomaly) (says, do, link string) {
	advice, ok := adviceOn(seen{group: checker.Group{Name: a.Name, Cause: a.Cause, Count: 1}, list: []checker.Anomaly{a}})
	if !ok {
		return "", "", ""
	}
	return advice.says, advice.do, docs + advice.page
}
