package results

import (
	"fmt"
	"io"
	"strings"

	"github.com/picklock/picklock/checker"
)

// maxJUnit is how many kinds of anomaly one case tells of.
const maxJUnit = 20

// JUnit writes junit.xml: the lock is the suite, its properties the cases. A
// broken property that was required fails; one that was not, or that is
// unknown, is skipped with the reason, for it proves nothing and decides nothing.
func JUnit(w io.Writer, run Run, v checker.Verdict) error {
	run.NoLock = run.NoLock || v.Stats.NoLock
	s := JUnitSuite{Name: "picklock." + firstNonEmpty(clip(run.Lock, 200), "unnamed"), Time: fmt.Sprintf("%.3f", float64(v.Stats.Duration)/1e9)}
	if !run.Started.IsZero() {
		s.Timestamp = run.Started.UTC().Format("2006-01-02T15:04:05")
	}
	prop := func(name, value string) {
		s.Properties = append(s.Properties, JUnitProperty{name, clip(value, 1000)})
	}
	prop("command", Command(run))
	prop("faults", firstNonEmpty(strings.Join(run.Faults, ","), "none"))
	prop("fencing", firstNonEmpty(run.Fencing, "none"))
	prop("seed", fmt.Sprint(run.Seed))
	if note := sectionNote(run, v); note != "" {
		prop("note", note)
	}
	if words := run.CutWords(); words != "" {
		prop("cut_short", words)
	}
	explained, causes := false, rootCauses(run, v)
	for _, name := range propertyNames(v) {
		p, judged := v.Properties[name]
		c := JUnitCase{Name: clip(name, 100), Class: s.Name, Time: "0"}
		switch {
		case !judged:
			c.Skipped = &JUnitSkipped{"not checked"}
		case p.Valid == checker.False && p.Required:
			explained = true
			c.Failure = failure(name, p, causes)
		case p.Valid == checker.False:
			c.Skipped = &JUnitSkipped{fmt.Sprintf("failed, but not required: %s", plural(p.Anomalies, "anomaly", "anomalies"))}
		case p.Valid == checker.Unknown:
			explained = explained || p.Required && v.Valid == checker.Unknown
			c.Skipped = &JUnitSkipped{"unknown: " + firstNonEmpty(clip(p.Why, 1000), "the checker gave no reason")}
		}
		s.Cases = append(s.Cases, c)
	}
	// A verdict that no single property explains has a case of its own.
	if (!explained || run.CutShort > 0 && v.Valid == checker.Unknown) && v.Valid != checker.True {
		c := JUnitCase{Name: "verdict", Class: s.Name, Time: "0"}
		if v.Valid == checker.Unknown {
			c.Skipped = &JUnitSkipped{"unknown: " + strings.Join(missing(run, v), " ")}
		} else {
			c.Failure = &JUnitFailure{Message: clip(headline(run, v), 500), Type: "verdict", Text: clip(v.Why, 2000)}
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	return WriteJUnit(w, s)
}

// failure describes a failed property by root cause, the deepest first. Its type is the class of
// the first.
func failure(name string, p checker.Property, causes []rootCause) *JUnitFailure {
	f := &JUnitFailure{Message: fmt.Sprintf("%s failed: %s", clip(name, 100), plural(p.Anomalies, "anomaly", "anomalies")), Type: "fail"}
	var lines []string
	say := func(class, kind, why, at, evidence string) {
		if len(lines) == 0 {
			f.Type, f.Message = firstNonEmpty(class, kind), f.Message+"; "+kind+why
		}
		lines = append(lines, fmt.Sprintf("%s, first at %s: %s", kind+why, at, evidence))
	}
	for _, r := range causes {
		if r.Property == clip(name, 40) {
			say(r.Class, r.Name, strings.TrimPrefix(r.cause().String(), r.Name), r.At, r.Evidence)
		}
		for _, c := range r.Then {
			if c.Property == clip(name, 40) {
				say(r.Class, c.Name, fmt.Sprintf(" × %s, a consequence of %s", c.Count, r.cause()), c.At, c.Evidence)
			}
		}
		if len(lines) >= maxJUnit {
			break
		}
	}
	if len(lines) == 0 && p.Why != "" {
		lines = append(lines, clip(p.Why, 2000))
	}
	f.Text = strings.Join(lines, "\n")
	return f
}
