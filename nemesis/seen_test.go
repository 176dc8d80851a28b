package nemesis

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// partly is an injector on whose one way nothing is done that a fault asks for, but what another
// fault has done before.
type partly struct {
	*fakeInjector
	way  string // as in wires
	deaf bool
}

func (p *partly) Do(ctx context.Context, op Op) (Result, error) {
	if o := &op.Packets; p.deaf && (o.Op == packetfault.Shaped || o.Op == packetfault.Hold) {
		var to []string
		for _, a := range o.To {
			if op.NetNS+" "+a != p.way {
				to = append(to, a)
			}
		}
		o.To = to
	}
	return p.fakeInjector.Do(ctx, op)
}

// TestSeenOnEachLink: a fault on links is confirmed when each of them shows it, and it alone: what
// another link or another fault shows says nothing.
func TestSeenOnEachLink(t *testing.T) {
	both := []string{"s1", "s2"}
	requests := map[string]FaultRequest{
		"delay": {Kind: "slow", Nodes: []string{"c1"}, Peers: both, Slow: link.Slow{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond}},
		"rate":  {Kind: "slow", Nodes: []string{"c1"}, Peers: both, Slow: link.Slow{Rate: 9000}},
		"loss":  {Kind: "loss", Nodes: []string{"c1"}, Peers: both, Loss: 0.2},
		"flap":  {Kind: "flap", Nodes: []string{"c1"}, Peers: both, Flap: 50 * time.Millisecond},
		"hold":  {Kind: "hold", Nodes: []string{"c1"}, Peers: both},
	}
	others := map[string]packetfault.Shape{
		"nothing":    {},
		"less delay": {Delay: time.Millisecond},
		"a rate":     {Rate: 90000},
		"less loss":  {Loss: 0.1},
		"a flap":     {Flap: time.Second},
	}
	for name, r := range requests {
		for other, shape := range others {
			for _, deaf := range []bool{false, true} {
				h := newFakeInjector()
				env := &Env{Cluster: newFakeCluster(), Isolated: true, TTL: time.Second}
				a, _ := env.node("c1")
				b, _ := env.node("s2")
				p := &partly{h, a.NetNS + " " + b.Addr, false}
				env.Injector = p
				env.net = newNetwork(env)
				if err := env.net.shape(t.Context(), "another", []directedLink{{"c1", "s2"}}, shape); err != nil {
					t.Fatal(err)
				}
				p.deaf = deaf
				kind, _ := lookup(r.Kind)
				f, err := kind.Make(t.Context(), env, Plan{FaultRequest: r}, chance{})
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Inject(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				err = f.(interface{ Verify(context.Context) error }).Verify(ctx)
				cancel()
				if !deaf && err != nil && (name != "hold" || shape == packetfault.Shape{}) {
					t.Errorf("%s, and %s besides: %v", name, other, err)
				}
				if deaf && (err == nil || !strings.Contains(err.Error(), "c1 to s2")) {
					t.Errorf("%s does nothing to one link, where there is %s: %v", name, other, err)
				}
			}
		}
	}
}

// TestLossesOfItsOwn: a fault that makes links worse counts the packets that were lost in its way
// while it lasted, and none that another fault lost on the same links.
func TestLossesOfItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		request FaultRequest
		want    string
	}{
		"slow": {FaultRequest{Slow: link.Slow{Delay: 5 * time.Millisecond}}, ""},
		"loss": {FaultRequest{Loss: 0.2}, ", 1 of 10 packets lost"},
		"flap": {FaultRequest{Flap: 50 * time.Millisecond}, ", 2 of 10 packets lost"},
	} {
		env := &Env{Cluster: newFakeCluster(), Isolated: true, TTL: time.Second, Injector: newFakeInjector()}
		env.net = newNetwork(env)
		tc.request.Kind, tc.request.Nodes, tc.request.Peers = name, []string{"c1"}, []string{"s1"}
		kind, _ := lookup(name)
		f, err := kind.Make(t.Context(), env, Plan{FaultRequest: tc.request}, chance{})
		if err == nil {
			err = f.Inject(t.Context())
		}
		if err == nil {
			err = f.Heal(t.Context())
		}
		if got := f.(interface{ Detail() string }).Detail(); err != nil || tc.want == "" && strings.Contains(got, "lost") || !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: %q, %v, want an end of %q", name, got, err, tc.want)
		}
	}
}
