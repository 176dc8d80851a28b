package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// residue is what a run's faults leave behind when they are over.
type residue struct {
	clients []string // whose sessions, connections or timers may have suffered
	servers bool     // some server was hit: they have to be whole again
	stays   bool     // only a new cluster repairs it
}

// residueOf says what a schedule's faults leave behind.
func residueOf(s *scenarios.Scenario, clients, servers []string) residue {
	var h residue
	hit := func(names []string) {
		for _, name := range names {
			switch {
			case name == scenarios.Servers || scenarios.IsRole(name) || slices.Contains(servers, name):
				h.servers = true
			case slices.Contains(clients, name) && !slices.Contains(h.clients, name):
				h.clients = append(h.clients, name)
			}
		}
	}
	for _, f := range s.TriggeredFaults {
		st := f.Fault
		if st.Word == "kill" && slices.Contains(clients, st.Nodes[0]) {
			continue // it was started anew when the fault was over
		}
		between := len(st.Peers) > 0 // a link is no node: its server is whole
		if !between {
			hit(st.Nodes)
		} else {
			onlyClients := func(names []string) []string {
				return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(clients, n) })
			}
			hit(onlyClients(st.Nodes))
			hit(onlyClients(st.Peers))
			apart := len(onlyClients(st.Nodes)) == 0 && len(onlyClients(st.Peers)) == 0
			h.servers = h.servers || apart
		}
		switch st.Word {
		case "failover", "powerloss":
			h.stays = true
		case "disk":
			// Once a stall is over every sync has been done. A write that failed leaves a server in a state that only it knows.
			h.stays = h.stays || compose.DiskFault(st.Disk) != compose.DiskStall
		}
	}
	if h.servers { // their clients have lost connections, perhaps sessions
		h.clients = slices.Clone(clients)
	}
	return h
}

// struckServers says that faults of the run struck its servers. Links between clients and servers
// are no servers.
func (r *run) struckServers() bool {
	sc, scripted := r.driver.(*script)
	if !scripted {
		return slices.ContainsFunc(r.faults, func(f nemesis.Spec) bool { return !f.HitsClients() })
	}
	h := residueOf(sc.scenario, r.names, sc.Servers())
	return h.servers || h.stays
}

// renew gives the clients that were harmed connections, sessions and timers that nothing has befallen.
func (r *clientSet) renew(ctx context.Context, sc *script) error {
	h := r.residue
	r.residue = residue{}
	over := make(chan error, len(h.clients))
	for _, name := range h.clients {
		go func() { over <- r.renewClient(ctx, sc, name) }()
	}
	var all error
	for range h.clients {
		all = errors.Join(all, <-over)
	}
	return all
}

// renewClient has a client open its lock anew; where that is not enough, or cannot be done, it gets a
// new process.
func (r *clientSet) renewClient(ctx context.Context, sc *script, name string) error {
	if r.NewProcesses {
		return r.replace(ctx, name)
	}
	done, err := sc.tell(name, workloads.Command{Do: workloads.CommandReopen})
	if err != nil {
		return r.replace(ctx, name)
	}
	t := time.NewTimer(openWithin)
	defer t.Stop()
	select {
	case d := <-done:
		if d.Error == "" {
			return nil
		}
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.replace(ctx, name)
}

// replace ends a client's process and starts another.
func (r *clientSet) replace(ctx context.Context, name string) error {
	if err := r.cluster.Kill(ctx, name); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return r.workers.respawn(ctx, name)
}
