package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// The stage on which a scenario is run: a run's clients, nemesis and servers.

// Act implements scenarios.Stage.
func (sc *script) Act(client, act string) (<-chan workloads.Done, error) {
	return sc.tell(client, workloads.Command{Do: act})
}

// tell gives a client a command; what came of it arrives on the channel.
func (sc *script) tell(client string, cmd workloads.Command) (<-chan workloads.Done, error) {
	done := make(chan workloads.Done, 1)
	sc.mu.Lock()
	sc.nextID++
	id := sc.nextID
	sc.waiting[id] = done
	sc.mu.Unlock()
	cmd.ID = id
	return done, sc.workers.command(client, cmd)
}

// Cancel implements scenarios.Canceler.
func (sc *script) Cancel(client string) error {
	return sc.workers.command(client, workloads.Command{Do: workloads.CommandCancel})
}

// Inject implements scenarios.Stage.
func (sc *script) Inject(ctx context.Context, r scenarios.FaultRequest) (func(context.Context) error, error) {
	return sc.nemesis.Inject(ctx, nemesis.FaultRequest(r))
}

// Messages implements scenarios.Stage.
func (sc *script) Messages(ctx context.Context, from, to []string, count int) error {
	return sc.nemesis.Messages(ctx, from, to, count)
}

// Deliver implements scenarios.Stage.
func (sc *script) Deliver(ctx context.Context, from, to []string, count int) error {
	return sc.nemesis.Deliver(ctx, from, to, count)
}

// Gate implements scenarios.Stage.
func (sc *script) Gate(ctx context.Context, r scenarios.GateRequest) (scenarios.Gate, error) {
	g, err := sc.nemesis.Gate(ctx, nemesis.GateRequest(r))
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Mark implements scenarios.Stage.
func (sc *script) Mark(ctx context.Context, server string) error {
	const within = 10 * time.Second // servers that sync now and then do so once a second or oftener
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	d := sc.cluster.Disks()
	if d == nil {
		return sc.cluster.MarkSynced(ctx, server)
	}
	if err := sc.cluster.AwaitWritten(ctx, server); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	return awaitSynced(ctx, d, server)
}

// awaitSynced waits until a server has synced all that it has written.
func awaitSynced(ctx context.Context, d compose.Disks, server string) error {
	look := time.NewTicker(5 * time.Millisecond) // its disk does not notify
	defer look.Stop()
	for {
		left, err := d.Unsynced(ctx, server)
		if err == nil && left.Bytes == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			if err == nil {
				err = fmt.Errorf("%d bytes that it has written are still not synced", left.Bytes)
			}
			return fmt.Errorf("mark %s: %w", server, err)
		}
	}
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
	return sc.inspector.inspect(ctx, sc.externalOptions().At(n.HostPort()), sc.keys[0])
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

// Leader implements scenarios.Stage.
func (sc *script) Leader(ctx context.Context) (string, error) { return sc.cluster.Leader(ctx) }

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
