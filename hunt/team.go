package hunt

import (
	"context"

	"github.com/picklock/picklock/scenarios"
)

// team is several runners for all who have something to run: each run takes one that is idle.
type team struct {
	idle chan Runner
	size int
}

func newTeam(runners []Runner) *team {
	t := &team{make(chan Runner, len(runners)), len(runners)}
	for _, p := range runners {
		t.idle <- p
	}
	return t
}

// Run implements Runner.
func (t *team) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	select {
	case p := <-t.idle:
		defer func() { t.idle <- p }()
		return p.Run(ctx, s)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
