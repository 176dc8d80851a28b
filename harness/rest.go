package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/nemesis/packetfault"
	"github.com/picklock/picklock/scenarios"
)

// AtRest implements scenarios.Rester.
func (sc *script) AtRest(ctx context.Context, clients []string) (bool, error) {
	nodes := slices.DeleteFunc(sc.cluster.Nodes(), func(n compose.Node) bool {
		return n.PID == 0 || n.Role == compose.Client && !slices.Contains(clients, n.Name)
	})
	var pids []int
	for _, n := range nodes {
		pids = append(pids, n.PID)
	}
	r, err := sc.Runtime.Injector().Do(ctx, nemesis.Op{Name: nemesis.OpRest, PIDs: pids})
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return false, nil // one of them has ended since the look
	case err != nil || !r.Yes:
		return false, err
	}
	var unseen []string
	working := map[string]compose.Node{} // by address: those that could deal with what is sent to them
	for _, n := range nodes {
		if !slices.Contains(r.Stopped, n.PID) { // what was sent to a stopped one waits for its going on
			working[n.Addr] = n
		}
		if n.External != "" {
			unseen = append(unseen, n.External)
		}
	}
	if sc.Runtime.Isolated() { // else the table is everybody's
		for _, n := range working {
			if idle, err := sc.idle(ctx, n, working); err != nil || !idle {
				return false, err
			}
		}
	}
	if len(unseen) > 0 {
		return false, fmt.Errorf("%w (%s)", scenarios.ErrUnseen, strings.Join(unseen, ", "))
	}
	return true, nil
}

// idle says that a node has read all that arrived, and that nothing of it is on its way to one of
// the others. What a fault withholds from them is not on its way.
func (sc *script) idle(ctx context.Context, n compose.Node, others map[string]compose.Node) (bool, error) {
	table, err := socketTable(ctx, sc.Runtime.Injector(), n.PID)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, nil // it has ended since the look
	}
	for _, s := range sockets(table) {
		if s.established && s.unread > 0 {
			return false, nil
		}
		if to, ok := others[s.remote]; ok && s.underWay() && !sc.nemesis.Withheld(n.Name, to.Name) {
			return false, nil
		}
	}
	return true, nil
}

// Carried implements scenarios.Hearer.
func (sc *script) Carried(ctx context.Context, client string) (map[string]scenarios.Carried, error) {
	var servers []string
	netns := ""
	for _, n := range sc.cluster.Nodes() {
		switch {
		case n.Name == client:
			netns = n.NetNS
		case n.Role == compose.Server:
			servers = append(servers, n.Addr)
		}
	}
	if netns == "" || len(servers) == 0 {
		return nil, nil // it is down or has no network of its own, or there are no servers
	}
	r, err := sc.Runtime.Injector().Do(ctx, nemesis.Op{Name: nemesis.OpPackets, NetNS: netns, Packets: packetfault.Request{Op: packetfault.Carried, To: servers}})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it has ended since the look
	}
	if err != nil {
		return nil, fmt.Errorf("see what %s hears: %w", client, err)
	}
	out := map[string]scenarios.Carried{}
	for _, t := range r.Packets.Traffic {
		out[fmt.Sprint(t.FlowPair)] = scenarios.Carried{Sent: t.Sent, Received: t.Received}
	}
	return out, nil
}
