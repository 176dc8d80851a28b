package nemesis

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// What is asked for by name is held, delivered and written down.
func TestHoldAndReset(t *testing.T) {
	tests := []struct {
		name    string
		request FaultRequest
		numb    bool
		want    []string // links that are held
		wrong   string
		end     string
	}{
		{"one direction", FaultRequest{Kind: "hold", Nodes: []string{"c1"}, Peers: []string{"s1", "s2"}}, false, []string{"c1 s1", "c1 s2"}, "", "2 messages from c1 to s1, s2 delivered after "},
		{"both directions", FaultRequest{Kind: "hold", Nodes: []string{"c1"}, Peers: []string{"s1"}, Both: true}, false, []string{"c1 s1", "s1 c1"}, "", "2 messages between c1 and s1 delivered after "},
		{"not seen", FaultRequest{Kind: "hold", Nodes: []string{"c1"}, Peers: []string{"s1"}}, true, nil, "did not take effect: c1 to s1: no probe was seen", ""},
		{"itself", FaultRequest{Kind: "hold", Nodes: []string{"c1"}, Peers: []string{"c1"}}, false, nil, "c1 sends nothing to itself", ""},
		{"no such node", FaultRequest{Kind: "hold", Nodes: []string{"c9"}, Peers: []string{"s1"}}, false, nil, `no node "c9"`, ""},
		{"no connection", FaultRequest{Kind: "reset", Nodes: []string{"c1"}, Peers: []string{"s1"}}, false, nil, "did not take effect: there is no connection between c1 and s1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, h := newFakeCluster(), newFakeInjector()
			h.numb = tt.numb
			var events []history.Event
			env := &Env{Cluster: c, Injector: h, Isolated: true, TTL: time.Second}
			n, err := New(t.Context(), env, nil, 1, history.Now(), func(e history.Event) { events = append(events, e) })
			if err != nil {
				t.Fatal(err)
			}
			heal, err := n.Inject(t.Context(), tt.request)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("%v, want %q", err, tt.wrong)
				}
				if len(h.wires) > 0 {
					t.Errorf("still held: %v", h.wires)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(h.wires) != len(tt.want) {
				t.Errorf("held %v, want %v", h.wires, tt.want)
			}
			for _, want := range tt.want {
				from, to, _ := strings.Cut(want, " ")
				a, _ := env.node(from)
				b, _ := env.node(to)
				if h.wires[a.NetNS+" "+b.Addr].Op != packetfault.Hold {
					t.Errorf("%s is not held", want)
				}
			}
			if err := n.Deliver(t.Context(), tt.request.Nodes, tt.request.Peers[:1], 1); err != nil {
				t.Error(err)
			}
			if err := n.Messages(t.Context(), tt.request.Nodes, tt.request.Peers[:1], 0); err != nil {
				t.Error(err)
			}
			if err := heal(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(h.wires) > 0 {
				t.Errorf("still held: %v", h.wires)
			}
			if len(events) != 2 || !events[0].Confirmed || !strings.HasSuffix(events[0].Detail, " held") || !strings.HasPrefix(events[1].Detail, tt.end) {
				t.Errorf("%+v, want a hold that took effect and %q", events, tt.end)
			}
		})
	}
}

// Two faults on one link both take effect, and the end of one leaves the other's.
func TestLinksAreShared(t *testing.T) {
	c, h := newFakeCluster(), newFakeInjector()
	env := &Env{Cluster: c, Injector: h, Isolated: true}
	env.net = newNetwork(env)
	x := []directedLink{{"c1", "s1"}}
	a, _ := env.node("c1")
	b, _ := env.node("s1")
	is := func(want packetfault.Request) {
		t.Helper()
		got := h.wires[a.NetNS+" "+b.Addr]
		if got.Op != want.Op || got.Shape != want.Shape {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	do := func(f func(context.Context) error) {
		t.Helper()
		if err := f(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slow, lossy := packetfault.Shape{Delay: time.Second, Rate: 9}, packetfault.Shape{Loss: 0.5, Rate: 5}
	do(func(ctx context.Context) error { return env.net.shape(ctx, "slow", x, slow) })
	do(func(ctx context.Context) error { return env.net.shape(ctx, "lossy", x, lossy) })
	is(packetfault.Request{Op: packetfault.Shaped, Shape: packetfault.Shape{Delay: time.Second, Loss: 0.5, Rate: 5}})
	for range 2 { // a heal that is tried again
		do(func(ctx context.Context) error { return env.net.unshape(ctx, "slow", x) })
		is(packetfault.Request{Op: packetfault.Shaped, Shape: lossy})
	}
	do(func(ctx context.Context) error { return env.net.unshape(ctx, "lossy", x) })
	do(func(ctx context.Context) error { return env.net.hold(ctx, "a", x) })
	do(func(ctx context.Context) error { return env.net.hold(ctx, "b", x) })
	for range 2 { // a heal that is tried again
		do(func(ctx context.Context) error { _, err := env.net.deliver(ctx, "a", x); return err })
		is(packetfault.Request{Op: packetfault.Hold})
	}
	do(func(ctx context.Context) error { _, err := env.net.deliver(ctx, "b", x); return err })
	is(packetfault.Request{})
}

// What is sent is withheld as long as a fault keeps it, or its acknowledgement, from its receiver. Of
// what is slow or lost at times, some arrives.
func TestWithheld(t *testing.T) {
	env := &Env{Cluster: newFakeCluster(), Injector: newFakeInjector(), Isolated: true}
	env.net = newNetwork(env)
	n := &Nemesis{env: env}
	there, back := []directedLink{{"c1", "s1"}}, []directedLink{{"s1", "c1"}}
	type change = func(context.Context, owner, []directedLink) error
	deliver := func(ctx context.Context, by owner, x []directedLink) error {
		_, err := env.net.deliver(ctx, by, x)
		return err
	}
	shape := func(s packetfault.Shape) change {
		return func(ctx context.Context, by owner, x []directedLink) error { return env.net.shape(ctx, by, x, s) }
	}
	for name, f := range map[string]struct {
		begin, end change
		withheld   bool
	}{
		"cut":   {env.net.cut, env.net.uncut, true},
		"held":  {env.net.hold, deliver, true},
		"muted": {env.net.mute, env.net.unmute, true},
		"slow":  {shape(packetfault.Shape{Delay: time.Second}), env.net.unshape, false},
		"lossy": {shape(packetfault.Shape{Loss: 0.9}), env.net.unshape, false},
		"flaps": {shape(packetfault.Shape{Flap: time.Second}), env.net.unshape, false},
	} {
		for _, x := range [][]directedLink{there, back} {
			if err := f.begin(t.Context(), "a", x); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n.Withheld("c1", "s1") != f.withheld || n.Withheld("s1", "c1") != f.withheld {
				t.Errorf("%s on %v: want withheld %v, there and back", name, x, f.withheld)
			}
			if n.Withheld("c2", "s1") || n.Withheld("c1", "s2") {
				t.Errorf("%s on %v: other links are withheld", name, x)
			}
			if err := f.end(t.Context(), "a", x); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n.Withheld("c1", "s1") {
				t.Errorf("%s on %v: withheld after its end", name, x)
			}
		}
	}
}

// What a step asks of a link is done to it, measured and written down, and ends.
func TestLinksMadeBad(t *testing.T) {
	tests := []struct {
		name, wrong, want string
		request           FaultRequest
		shape             packetfault.Shape
	}{
		{"slow one way", "", "c1 to s1 slowed by 5ms±1ms and to 9 kB/s, measured 10ms there and back", FaultRequest{Kind: "slow", Nodes: []string{"c1"}, Peers: []string{"s1"}, Slow: link.Slow{Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Rate: 9000}}, packetfault.Shape{Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Rate: 9000}},
		{"lossy", "", "c1 to s1 lose 50 % of their packets", FaultRequest{Kind: "loss", Nodes: []string{"c1"}, Peers: []string{"s1"}, Loss: 0.5}, packetfault.Shape{Loss: 0.5}},
		{"flapping", "", "c1 to s1 cut and healed every 50ms", FaultRequest{Kind: "flap", Nodes: []string{"c1"}, Peers: []string{"s1"}, Flap: 50 * time.Millisecond}, packetfault.Shape{Flap: 50 * time.Millisecond}},
		{"flaps in no time", "no time to be down", "", FaultRequest{Kind: "flap", Nodes: []string{"c1"}, Peers: []string{"s1"}}, packetfault.Shape{}},
		{"slow by nothing", "neither a delay nor a rate", "", FaultRequest{Kind: "slow", Nodes: []string{"c1"}, Peers: []string{"s1"}}, packetfault.Shape{}},
		{"loses nothing", "0 is no part of the packets", "", FaultRequest{Kind: "loss", Nodes: []string{"c1"}, Peers: []string{"s1"}}, packetfault.Shape{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeInjector()
			var events []history.Event
			env := &Env{Cluster: newFakeCluster(), Injector: h, Isolated: true, TTL: time.Second}
			n, err := New(t.Context(), env, nil, 1, history.Now(), func(e history.Event) { events = append(events, e) })
			if err != nil {
				t.Fatal(err)
			}
			heal, err := n.Inject(t.Context(), tt.request)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("%v, want %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			a, _ := env.node("c1")
			b, _ := env.node("s1")
			if got := h.wires[a.NetNS+" "+b.Addr].Shape; got != tt.shape || len(h.wires) != 1 {
				t.Errorf("%+v, want %+v one way", h.wires, tt.shape)
			}
			if err := heal(t.Context()); err != nil || len(h.wires) != 0 {
				t.Errorf("after the end: %v, %v", h.wires, err)
			}
			if len(events) != 2 || !events[0].Confirmed || events[0].Detail != tt.want {
				t.Errorf("%+v, want %q", events, tt.want)
			}
		})
	}
}
