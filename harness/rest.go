package harness

import (
	"context"
	"slices"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/proc"
)

// AtRest implements scenarios.Rester. Of nodes that are no processes of this machine nothing is
// known: a wait for them rests on its time alone.
func (sc *script) AtRest(ctx context.Context, clients []string) (bool, error) {
	if sc.Runtime.Name() != "local" {
		return true, nil
	}
	for _, n := range sc.cluster.Nodes() {
		if n.PID == 0 || n.Role == compose.Client && !slices.Contains(clients, n.Name) {
			continue
		}
		rest, stopped, err := proc.AtRest(n.PID)
		if err != nil || !rest {
			return false, err
		}
		if stopped {
			continue // what was sent to it waits for its going on
		}
		table, err := socketTable(ctx, sc.Runtime.Injector(), n.PID)
		if err != nil {
			return false, nil //nolint:nilerr // it has ended since the look
		}
		if slices.ContainsFunc(sockets(table), func(s socket) bool { return s.established && s.unread > 0 }) && sc.Runtime.Isolated() {
			return false, nil
		}
	}
	return true, nil
}
