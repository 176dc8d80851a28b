package harness

import (
	"errors"
	"slices"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// A script may need what a lock has not: then it is left out, with the reason, and neither held nor broken.

// unfit says why a script was nothing for a lock; "" if it was.
// What was found all the same stands.
func unfit(s *scenarios.Scenario, lock string, stepErr error, g grantFacts, met checker.Validity) string {
	if met == checker.False {
		return ""
	}
	var why *scenarios.Unfit
	if scenarios.Own(lock) && errors.As(stepErr, &why) {
		return why.Why
	}
	if stepErr != nil {
		return ""
	}
	switch {
	case g.n == 0:
	case !g.lease && slices.Contains(s.Needs, scenarios.NeedLease):
		return "the lock promises no lease"
	case !g.tokens && slices.Contains(s.Needs, scenarios.NeedTokens):
		return "the lock gives no fencing tokens"
	}
	return ""
}

// ownDelay says that what broke is nothing but what any lease does if something takes long, and that this machine
// took longer for a step than it should.
func ownDelay(v checker.Verdict, stepErr error) bool {
	return errors.Is(stepErr, scenarios.ErrBusy) && v.Class() == verdict.Hazard
}

// judge says whether what was expected came of a scenario.
func judge(r *results.Cell, want *scenarios.Expectation, v checker.Verdict, stepErr error) {
	r.Met, r.Why = want.Judge(v, r.Counts)
	if stepErr != nil && r.Met == checker.True {
		r.Met, r.Why = checker.Unknown, stepErr.Error()
	} else if stepErr != nil {
		r.Why = stepErr.Error() + "; " + r.Why
		if r.Met == checker.False && (len(want.Must) > 0 || ownDelay(v, stepErr)) {
			r.Met = checker.Unknown // the script never came to what was to break it, or it was not the script that did
		}
	}
}
