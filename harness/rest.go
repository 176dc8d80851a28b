package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/proc"
)

// AtRest implements scenarios.Rester. Of nodes that are no processes of this machine nothing is
// known: a wait for them rests on its time alone.
func (sc *script) AtRest(ctx context.Context, clients []string) (bool, error) {
	var sent strings.Builder
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
		if !sc.Runtime.Isolated() {
			continue // the table is everybody's
		}
		for _, s := range sockets(table) {
			if s.established && s.unread > 0 {
				return false, nil
			}
			if s.underWay() {
				fmt.Fprintf(&sent, "%s:%d %s %d\n", s.addr, s.port, s.remote, s.unacked)
			}
		}
	}
	return sc.delivered(sent.String()), nil
}

// deliveredWithin is how long what was sent may stay unanswered by the other end's kernel before
// it counts as cut off: a busy machine takes its time to carry it there.
const deliveredWithin = 150 * time.Millisecond

// delivered says that nothing is on its way between nodes, or that it has not moved for so long
// that a fault holds it back.
func (sc *script) delivered(sent string) bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sent != sc.sent {
		sc.sent, sc.sentSince = sent, time.Now()
	}
	return sent == "" || time.Since(sc.sentSince) >= deliveredWithin
}
