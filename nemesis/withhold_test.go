package nemesis

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// What is withheld is held, then lost, and is nothing without a message that it could lose.
func TestWithhold(t *testing.T) {
	for name, quiet := range map[string]bool{"an answer": false, "no answer": true} {
		t.Run(name, func(t *testing.T) {
			h := newFakeInjector()
			h.quiet, h.flows = quiet, true
			var events []history.Event
			env := &Env{Cluster: newFakeCluster(), Injector: h, Isolated: true, TTL: time.Second}
			n, err := New(t.Context(), env, nil, 1, history.Now(), func(e history.Event) { events = append(events, e) })
			if err != nil {
				t.Fatal(err)
			}
			lose, err := n.Inject(t.Context(), FaultRequest{Kind: "withhold", Nodes: []string{"s1"}, Peers: []string{"c1"}})
			if err != nil {
				t.Fatal(err)
			}
			from, _ := env.node("s1")
			to, _ := env.node("c1")
			if h.wires[from.NetNS+" "+to.Addr].Op != packetfault.Hold || len(h.wires) != 1 {
				t.Errorf("held %v, want s1 to c1", h.wires)
			}
			err = lose(t.Context())
			if len(h.wires) > 0 {
				t.Errorf("still held: %v", h.wires)
			}
			if len(events) != 2 || !events[0].Confirmed || !strings.HasSuffix(events[0].Detail, " withheld") {
				t.Errorf("%+v, want a fault that took effect", events)
			}
			switch {
			case quiet && (err == nil || !strings.Contains(err.Error(), "no message came")):
				t.Errorf("%v, want that nothing was withheld", err)
			case !quiet && (err != nil || !strings.HasPrefix(events[1].Detail, "1 messages lost and 1 connections reset after ")):
				t.Errorf("%v, %q", err, events[1].Detail)
			}
			if err := lose(t.Context()); !quiet && err != nil {
				t.Errorf("once more: %v", err)
			}
		})
	}
}
