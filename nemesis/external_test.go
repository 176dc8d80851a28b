package nemesis

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
)

// outsideOf is a nemesis for a cluster of two clients and servers that run already.
func outsideOf(t *testing.T, fault string, servers ...string) (*Nemesis, error) {
	t.Helper()
	spec, err := Parse(fault)
	if err != nil {
		t.Fatal(err)
	}
	c := newFake(append(servers, "c1", "c2", "register")...)
	for i := range c.nodes {
		if c.nodes[i].Role == compose.Server {
			c.nodes[i].External = "10.1.1.1:6379"
		}
	}
	return New(t.Context(), &Env{Cluster: c, TTL: time.Second, Isolated: true, Injector: newFakeInjector()}, []Spec{spec}, 1, 0, nil)
}

func TestServicesOutsideAreLeftAlone(t *testing.T) {
	one, three := []string{"s1"}, []string{"s1", "s2", "s3"}
	for _, tt := range []struct {
		fault   string
		servers []string
		err     string // "": it is possible
	}{
		{"pause:holder", one, ""}, {"kill:client", one, ""}, {"clock:waiter", one, ""},
		{"partition:holder", one, ""}, {"partition:client", three, ""}, {"hold:client", three, ""}, {"slow:client", three, ""},
		{"partition:one", one, ""}, {"partition:one", three, ""}, {"partition:halves", three, ""}, {"loss:s1", three, ""},
		{"pause", one, "pause of s1, which is 10.1.1.1:6379"}, {"pause:leader", three, "not started it"}, {"kill:s1", one, "not started it"},
		{"kill:majority", three, "not started it"}, {"clock:one", three, "not started it"}, {"disk", one, "not started it"},
		{"failover", three, "not started it"}, {"powerloss", one, "not started it"}, {"refuse", one, "not started it"},
		{"partition:ring", three, "between s"}, {"partition:one:servers", three, "no link to other servers"},
	} {
		_, err := outsideOf(t, tt.fault, tt.servers...)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s with %v: %v, want %q", tt.fault, tt.servers, err, tt.err)
		}
	}
}

func TestAllLeavesServicesOutsideAlone(t *testing.T) {
	n, err := outsideOf(t, All, "s1", "s2", "s3")
	if err != nil {
		t.Fatal(err)
	}
	got := n.Drawn()
	for _, want := range []string{"pause:holder", "kill:waiter", "clock:client", "partition:holder:servers", "partition:majority", "hold:client:out", "reset:waiter"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
	for _, not := range []string{"pause:leader", "pause:majority", "kill:one", "clock:leader", "disk:one", "failover", "powerloss:leader", "partition:ring", "partition:leader:servers:out", "hold:one:servers"} {
		if slices.Contains(got, not) {
			t.Errorf("%s is among the faults", not)
		}
	}
	if left := n.LeftOut(); len(left) != 1 || !strings.Contains(left[0], "clients and their links only") {
		t.Errorf("left out: %v", left)
	}
}

func TestAScenarioLeavesServicesOutsideAlone(t *testing.T) {
	n, err := outsideOf(t, "pause:holder", "s1", "s2")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]FaultRequest{
		"pause":     {Kind: "pause", Nodes: []string{"c1", "s1"}},
		"kill":      {Kind: "kill", Nodes: []string{"s2"}},
		"powerloss": {Kind: "powerloss", Nodes: []string{"s2"}},
		"cut":       {Kind: "partition", Nodes: []string{"s1"}, Peers: []string{"c1", "s2"}, Both: true},
	} {
		if _, err := n.Inject(t.Context(), r); !errors.Is(err, errExternal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c := n.env.Cluster.(*fakeCluster); len(c.log) > 0 {
		t.Errorf("done to the cluster: %v", c.log)
	}
}
