package nemesis

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/clock"
)

// failing is an injector that fails at one node.
type failing struct {
	*fakeInjector
	pid   int
	netns string
	cut   bool // it has been
	ok    bool // it fails no more
}

var errFailing = errors.New("it fails")

func (f *failing) Do(ctx context.Context, op Op) (Result, error) {
	switch {
	case f.ok:
	case op.Name == OpSignal && op.PID == f.pid && op.Signal == syscall.SIGCONT,
		op.Name == OpSetClock && op.PID == f.pid && op.Clock.Right(),
		op.Name == OpDrop && op.NetNS == f.netns && len(op.From) == 0 && f.cut:
		return Result{}, errFailing
	}
	f.cut = f.cut || op.Name == OpDrop && op.NetNS == f.netns
	return f.fakeInjector.Do(ctx, op)
}

// TestHealGoesOn: where one node cannot be healed, the others are all the same, and the heal
// can be tried again.
func TestHealGoesOn(t *testing.T) {
	for name, tt := range map[string]struct {
		fault func(e *Env, nodes []compose.Node) Fault
		well  func(f *fakeInjector, n compose.Node) bool
	}{
		"pause": {
			func(e *Env, nodes []compose.Node) Fault { return &pause{env: e, nodes: nodes} },
			func(f *fakeInjector, n compose.Node) bool { return !f.stopped[n.PID] },
		},
		"clock": {
			func(e *Env, nodes []compose.Node) Fault {
				return &clockFault{env: e, nodes: nodes, to: clock.Setting{Offset: time.Hour}}
			},
			func(f *fakeInjector, n compose.Node) bool { return f.clocks[n.PID].Right() },
		},
		"partition": {
			func(e *Env, nodes []compose.Node) Fault {
				p := &partition{env: e, nodes: names(nodes)}
				for _, n := range nodes {
					p.links = append(p.links, directedLink{from: "s3", to: n.Name})
				}
				return p
			},
			func(f *fakeInjector, n compose.Node) bool { return len(f.drops[n.NetNS]) == 0 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // what fails is awaited in vain
			defer cancel()
			c := newFakeCluster()
			var nodes []compose.Node
			for _, n := range c.Nodes() {
				if slices.Contains([]string{"s1", "s2"}, n.Name) {
					nodes = append(nodes, n)
				}
			}
			f := &failing{fakeInjector: newFakeInjector(), pid: nodes[0].PID, netns: nodes[0].NetNS}
			env := &Env{Cluster: c, Injector: f, Isolated: true}
			env.net = newNetwork(env)
			fault := tt.fault(env, nodes)
			if err := fault.Inject(ctx); err != nil {
				t.Fatal(err)
			}
			if err := fault.Heal(ctx); !errors.Is(err, errFailing) {
				t.Errorf("heal: %v", err)
			}
			f.mu.Lock()
			if tt.well(f.fakeInjector, nodes[0]) || !tt.well(f.fakeInjector, nodes[1]) {
				t.Errorf("%s is well: %v, %s: %v", nodes[0].Name, tt.well(f.fakeInjector, nodes[0]), nodes[1].Name, tt.well(f.fakeInjector, nodes[1]))
			}
			f.ok = true
			f.mu.Unlock()
			if err := fault.Heal(t.Context()); err != nil {
				t.Error(err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if !tt.well(f.fakeInjector, nodes[0]) {
				t.Errorf("%s is not well", nodes[0].Name)
			}
		})
	}
}

// TestHealTwice: a partition that is healed again takes nothing from one that overlaps it.
func TestHealTwice(t *testing.T) {
	ctx := t.Context()
	c, f := newFakeCluster(), newFakeInjector()
	env := &Env{Cluster: c, Injector: f, Isolated: true}
	env.net = newNetwork(env)
	a, b := &partition{env: env, links: []directedLink{{"s2", "s1"}}}, &partition{env: env, links: []directedLink{{"s2", "s1"}, {"s3", "s1"}}}
	if err := errors.Join(a.Inject(ctx), b.Inject(ctx), a.Heal(ctx), a.Heal(ctx)); err != nil {
		t.Fatal(err)
	}
	n, _ := env.node("s1")
	if got := f.drops[n.NetNS]; !slices.Equal(got, []string{"10.0.0.2", "10.0.0.3"}) {
		t.Errorf("drops packets from %v", got)
	}
	if err := b.Heal(ctx); err != nil || len(f.drops[n.NetNS]) > 0 {
		t.Errorf("drops packets from %v: %v", f.drops[n.NetNS], err)
	}
}
