package nemesis

import (
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// A reset ends connections, with what is held of them. It ends no hold: what comes on new ones waits.
func TestHoldOutlastsReset(t *testing.T) {
	h := newFakeInjector()
	h.flows = true
	n, err := New(t.Context(), &Env{Cluster: newFakeCluster(), Injector: h, Isolated: true, TTL: time.Second}, nil, 1, history.Now(), func(history.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	heal, err := n.Inject(t.Context(), FaultRequest{Kind: "hold", Nodes: []string{"c1"}, Peers: []string{"s1"}})
	if err != nil {
		t.Fatal(err)
	}
	before := len(h.wires)
	h.flows = true
	if _, err := n.Inject(t.Context(), FaultRequest{Kind: "reset", Nodes: []string{"c1"}, Peers: []string{"s1"}, Manner: ResetSilently}); err != nil {
		t.Fatal(err)
	}
	if len(h.wires) != before {
		t.Errorf("%d links are held after the reset, %d were before", len(h.wires), before)
	}
	for key, on := range h.wires {
		if on.Op != packetfault.Hold {
			t.Errorf("%s: %v, want a hold", key, on.Op)
		}
	}
	if err := heal(t.Context()); err != nil {
		t.Error(err)
	}
	if len(h.wires) > 0 {
		t.Errorf("%v is held after the end", h.wires)
	}
}
