package hunt

import (
	"context"
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// holdsTries is how often a runner is asked whether the lock can be asked, while this machine is too
// busy for an answer.
const holdsTries = 3

// LearnHolds finds out by a run whether clients can ask the lock if they hold it. It is needed of a
// program, which says so only when it is opened.
func (t *Target) LearnHolds(ctx context.Context, p Runner) error {
	w := workload{name: asksHeld, programs: []scenarios.Program{scenarios.MustProgram("acquire, "+acts.Held+", release", clientNames)}}
	for range holdsTries {
		out, err := p.Run(ctx, t.schedule(w))
		if err != nil {
			return err
		}
		t.Holds = slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.F == history.Holds && e.Type == history.OK })
		if t.Holds || !out.Busy {
			return nil
		}
	}
	return nil
}
