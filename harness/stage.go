package harness

import (
	"context"
	"fmt"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// The stage on which a scenario is played: a run's clients, nemesis and servers.

// Act implements scenarios.Stage.
func (sc *script) Act(client, act string) (<-chan workloads.Done, error) {
	done := make(chan workloads.Done, 1)
	sc.mu.Lock()
	sc.nextID++
	id := sc.nextID
	sc.waiting[id] = done
	sc.mu.Unlock()
	return done, sc.workers.command(client, workloads.Command{Do: act, ID: id})
}

// Inject implements scenarios.Stage.
func (sc *script) Inject(ctx context.Context, r scenarios.FaultRequest) (func(context.Context) error, error) {
	return sc.nemesis.Inject(ctx, nemesis.FaultRequest(r))
}

// Mark implements scenarios.Stage.
func (sc *script) Mark(ctx context.Context, server string) error {
	m, ok := sc.cluster.(compose.Unsynced)
	if !ok {
		return fmt.Errorf("the runtime %s does not know what a server has synced", sc.Runtime.Name())
	}
	return m.MarkSynced(ctx, server)
}

// Look implements scenarios.Stage.
func (sc *script) Look(ctx context.Context, server string) (int, error) {
	if sc.lock.Inspect == nil {
		return 0, fmt.Errorf("lock %s cannot be looked at from outside", sc.lock.Name)
	}
	n, err := sc.server(server)
	if err != nil {
		return 0, err
	}
	return sc.inspector.inspect(ctx, n.HostPort(), sc.keys[0])
}

// Unread implements scenarios.Stage.
func (sc *script) Unread(ctx context.Context, server string) (int, error) {
	n, err := sc.server(server)
	if err != nil {
		return 0, err
	}
	return unread(ctx, sc.Runtime.Injector(), n)
}

func (sc *script) server(name string) (compose.Node, error) {
	for _, n := range sc.cluster.Nodes() {
		if n.Name == name && n.Role == compose.Server {
			return n, nil
		}
	}
	return compose.Node{}, fmt.Errorf("no server %q: have %v", name, sc.Servers())
}

// Servers implements scenarios.Stage.
func (sc *script) Servers() []string {
	var out []string
	for _, n := range sc.cluster.Nodes() {
		if n.Role == compose.Server {
			out = append(out, n.Name)
		}
	}
	return out
}

// Now implements scenarios.Stage.
func (sc *script) Now() int64 { return sc.Runtime.Now() - sc.start }

// unread counts the node's connections on which bytes wait for the server to read
// them: a stopped server was asked something.
func unread(ctx context.Context, injector nemesis.Injector, n compose.Node) (int, error) {
	text, err := socketTable(ctx, injector, n.PID)
	if err != nil {
		return 0, fmt.Errorf("look at the sockets of %s: %w", n.Name, err)
	}
	count := 0
	for _, s := range sockets(text) {
		if s.addr == n.Addr && s.port == n.Port && s.unread > 0 && s.established {
			count++
		}
	}
	return count, nil
}
