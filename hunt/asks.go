package hunt

import (
	"context"
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// learnTries is how often a runner is asked what the lock can do, while this machine is too busy for an answer.
const learnTries = 3

// Learn finds out by a run what the lock can do: whether clients can ask it if they hold it, and of which kind it
// is. It is needed of a program, which says so only when it is opened.
func (t *Target) Learn(ctx context.Context, p Runner) error {
	w := workload{name: asksHeld, programs: []scenarios.Program{scenarios.MustProgram("acquire, "+acts.Held+", release", clientNames)}}
	for range learnTries {
		out, err := p.Run(ctx, t.schedule(w))
		if err != nil {
			return err
		}
		t.Reentrant, t.Shared = out.Reentrant, out.Shared
		t.Holds = slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.F == history.Holds && e.Type == history.OK })
		if t.Holds || !out.Busy {
			return nil
		}
	}
	return nil
}
