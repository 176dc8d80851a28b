package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/picklock/picklock/internal/format"
)

// The exact checks decide; Porcupine, which searches and knows nothing of them,
// must come to the same answer on every window that it is given. If it does not,
// one of the two is wrong and the property is unknown.
const (
	windowSize     = 100                    // grants or operations in a window, at most
	windowCount    = 40                     // windows a property, those with anomalies first
	windowTimeout  = 100 * time.Millisecond // then Porcupine has given up, and said nothing
	crossCheckTime = time.Second            // for all of it
)

// crossCheck has Porcupine check samples of the history, and withdraws the verdict
// on a property on which the two disagree.
func crossCheck(ctx context.Context, an *analysis, v *Verdict) {
	stop := time.Now().Add(crossCheckTime)
	if end, ok := ctx.Deadline(); ok && end.Before(stop) {
		stop = end
	}
	groups := groupsOf(an.locks)
	for _, job := range []struct {
		property string
		windows  func(*analysis, []grantGroup) []window
	}{
		{Exclusion, exclusionWindows},
		{Tokens, tokenWindows},
		{Register, registerWindows},
	} {
		p := v.Properties[job.property]
		if p.Valid == Unknown {
			continue
		}
		if why := disagreement(sample(job.windows(an, groups)), stop); why != "" {
			p.Valid, p.Why = Unknown, why+"; before that: "+p.Why
			v.Properties[job.property] = p
		}
	}
}

// disagreement has Porcupine check windows, and says where it disagrees.
func disagreement(windows []window, stop time.Time) string {
	for _, w := range windows {
		if time.Now().After(stop) {
			break
		}
		q := w.build()
		res := porcupine.CheckOperationsTimeout(q.model, q.calls, windowTimeout)
		if res == porcupine.Unknown || (q.illegalOnly && res == porcupine.Ok) {
			continue
		}
		if (res == porcupine.Ok) != q.exact {
			return fmt.Sprintf("THE CHECKER CONTRADICTS ITSELF, please report it: on key %s from %s on (%d calls) the exact check says %s and Porcupine says %s",
				w.key, format.Instant(w.from), len(q.calls), legal(q.exact), legal(!q.exact))
		}
	}
	return ""
}

func legal(ok bool) string {
	if ok {
		return "legal"
	}
	return "illegal"
}
