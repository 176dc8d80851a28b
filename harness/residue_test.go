package harness

import (
	"fmt"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// What a fault leaves behind decides what is renewed before the next run.
func TestResidue(t *testing.T) {
	clients, servers := []string{"A", "B"}, []string{"etcd1", "etcd2"}
	for fault, want := range map[string]residue{
		"pause: A":                {clients: []string{"A"}},
		"kill: A":                 {},
		"cut: A from servers":     {clients: []string{"A"}, servers: false},
		"cut: etcd1 from etcd2":   {clients: clients, servers: true},
		"pause: leader":           {clients: clients, servers: true},
		"kill: etcd1":             {clients: clients, servers: true},
		"disk: etcd1 stall":       {clients: clients, servers: true},
		"disk: leader stall 20ms": {clients: clients, servers: true},
		"disk: etcd1 full":        {clients: clients, servers: true, stays: true},
		"disk: etcd1 eio":         {clients: clients, servers: true, stays: true},
		"powerloss: etcd1":        {clients: clients, servers: true, stays: true},
		"failover: etcd1":         {clients: clients, servers: true, stays: true},
		"hold: servers to B":      {clients: []string{"B"}},
		"withhold: etcd1, A to B": {clients: clients},
	} {
		s := &scenarios.Scenario{}
		f, err := scenarios.NewTriggeredFault(fault, scenarios.Trigger{}, scenarios.Until{})
		if err != nil {
			t.Errorf("%s: %v", fault, err)
			continue
		}
		s.TriggeredFaults = []scenarios.TriggeredFault{f}
		if got := residueOf(s, clients, servers); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", fault, got, want)
		}
	}
}
