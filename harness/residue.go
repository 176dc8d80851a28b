package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// residue is what a run's faults leave behind when they are over.
type residue struct {
	clients []string // whose sessions and connections may have suffered
	servers bool     // some server was hit: they have to be whole again
	stays   bool     // only a new cluster repairs it
}

// residueOf says what a schedule's faults leave behind.
func residueOf(s *scenarios.Scenario, clients, servers []string) residue {
	var h residue
	hit := func(names []string) {
		for _, name := range names {
			switch {
			case name == scenarios.Servers || slices.Contains(servers, name):
				h.servers = true
			case slices.Contains(clients, name) && !slices.Contains(h.clients, name):
				h.clients = append(h.clients, name)
			}
		}
	}
	for _, st := range s.TriggeredFaults {
		switch st.Fault.Word {
		case "pause", "clock", "hold", "deliver", "slow", "loss":
			if !slices.ContainsFunc(st.Fault.Nodes, func(n string) bool { return n == scenarios.Servers || slices.Contains(servers, n) }) || len(st.Fault.Peers) > 0 {
				continue // a client goes on from there as it does in any run
			}
		case "kill":
			if slices.Contains(clients, st.Fault.Nodes[0]) {
				continue // it was started anew when the fault was over
			}
		}
		between := len(st.Fault.Peers) > 0 // a link is no node: its server is whole
		if !between {
			hit(st.Fault.Nodes)
		} else {
			onlyClients := func(names []string) []string {
				return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(clients, n) })
			}
			hit(onlyClients(st.Fault.Nodes))
			hit(onlyClients(st.Fault.Peers))
			apart := len(onlyClients(st.Fault.Nodes)) == 0 && len(onlyClients(st.Fault.Peers)) == 0
			h.servers = h.servers || apart
		}
		switch st.Fault.Word {
		case "failover", "powerloss", "disk":
			h.stays = true
		}
	}
	if h.servers { // their clients have lost connections, perhaps sessions
		h.clients = slices.Clone(clients)
	}
	return h
}

// repair starts again the clients that a fault affected, and waits until the servers are healthy. An
// error means that they are not.
func (r *testbedRun) repair(ctx context.Context) error {
	h := r.residue
	r.residue = residue{}
	if h.servers {
		if err := healthy(ctx, r.cluster); err != nil {
			return err
		}
	}
	over := make(chan error, len(h.clients))
	for _, name := range h.clients {
		go func() { over <- r.replace(ctx, name) }()
	}
	var first error
	for range h.clients {
		if err := <-over; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// replace ends a client's process and starts another.
func (r *testbedRun) replace(ctx context.Context, name string) error {
	if err := r.cluster.Kill(ctx, name); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return r.workers.respawn(ctx, name)
}
