package results

import (
	"fmt"
	"time"

	"github.com/picklock/picklock/checker"
)

// Unfinished stands in CutShort as long as a run goes on, and for good in one that was
// killed.
const Unfinished time.Duration = 1

// CutWords says that the run was interrupted, and after how long; "" for one that was
// not.
func (r Run) CutWords() string {
	switch {
	case r.CutShort <= 0:
		return ""
	case r.CutShort == Unfinished:
		return "cut short: the run never came to its end"
	case r.Limit <= 0: // a script
		return fmt.Sprintf("cut short after %.1f s", r.CutShort.Seconds())
	case r.CutShort >= r.Limit:
		return "cut short while it waited for the lock to come back"
	}
	return fmt.Sprintf("cut short after %.1f s of %v", r.CutShort.Seconds(), r.Limit)
}

// Judged is what a verdict on the history says of the run: one that was cut short has
// not tried what was asked for, so that it can show that a lock is broken and never
// that it held.
func (r Run) Judged(v checker.Verdict) checker.Verdict {
	words := r.CutWords()
	if words != "" && v.Promises == checker.True {
		v.Promises, v.PromisesWhy = checker.Unknown, words
	}
	switch {
	case words == "" || v.Valid == checker.False:
	case v.Valid == checker.True || v.Why == "":
		v.Valid, v.Why = checker.Unknown, words
	default:
		v.Why = words + "; " + v.Why
	}
	return v
}
