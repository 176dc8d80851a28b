package results

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/format"
)

// sectionTooLong is the explanation of a run that failed because its sections did not fit
// into a lease.
const sectionTooLong = "the section was longer than the lease"

// tooLong says that sections could last longer than the lease and that nobody renewed
// it. They last up to half as long again as the user said.
func tooLong(run Run) bool {
	return !run.NoLock && !run.Renew && run.TTL > 0 && run.WorkTime+run.WorkTime/2 > run.TTL
}

// outlasted says of one anomaly that its client had simply held on for longer than
// its lease: no fault was on that could have kept it, and nothing says that the
// service ended the lease early.
func outlasted(run Run, a checker.Anomaly) bool {
	if !tooLong(run) || len(a.Faults) > 0 {
		return false
	}
	switch a.Cause {
	case "lease-outlived", "interleaved":
		return true
	}
	// A lock that promises no lease has no cause.
	return a.Cause == "" && a.Property == checker.Belief
}

// someOutlasted says that a run shows at least one anomaly of that kind.
func someOutlasted(run Run, v checker.Verdict) bool {
	for _, a := range v.Anomalies {
		if outlasted(run, a) {
			return true
		}
	}
	return false
}

// sectionNote says what to do about sections that are too long; "" where none was.
func sectionNote(run Run, v checker.Verdict) string {
	if !someOutlasted(run, v) {
		return ""
	}
	return fmt.Sprintf("%s: it lasts up to %s, the lease %s. Ask for a longer lease, or renew it.",
		sectionTooLong, format.Page.Length(int64(run.WorkTime+run.WorkTime/2)), format.Page.Length(int64(run.TTL)))
}

// causeWords says what an anomaly came of.
func causeWords(run Run, a checker.Anomaly) string {
	if outlasted(run, a) {
		return sectionTooLong
	}
	return a.CauseWords()
}

// workTimeOf says how long the sections lasted.
func workTimeOf(run Run) string {
	if run.WorkTime == 0 {
		return ""
	}
	s := format.Page.Length(int64(run.WorkTime))
	if run.Reach > 0 {
		s += fmt.Sprintf("; some last up to %s %% of their lease", format.Digits(100*run.Reach))
	}
	return s
}

// capital begins s as a sentence does; s is ours.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
