package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// renewingCluster gives a node a new network namespace on every start, as Docker
// does, and none while it is down.
type renewingCluster struct {
	*fakeCluster
	around func(ctx context.Context, node string, start func() error) error
}

func (c *renewingCluster) AroundStart(f func(context.Context, string, func() error) error) {
	c.around = f
}

func (c *renewingCluster) set(name string, pid int, netns string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.nodes {
		if c.nodes[i].Name == name {
			c.nodes[i].PID, c.nodes[i].NetNS = pid, netns
		}
	}
}

// mortalHands fail as the agent does when a namespace went with its node.
type mortalHands struct {
	*fakeInjector
	cluster *renewingCluster
}

func (h mortalHands) alive(netns string) error {
	for _, n := range h.cluster.Nodes() {
		if n.NetNS == netns && netns != "" {
			return nil
		}
	}
	return fmt.Errorf("network %q: %w", netns, os.ErrProcessDone)
}

func (h mortalHands) Do(ctx context.Context, op Op) (Result, error) {
	r, err := h.fakeInjector.Do(ctx, op)
	if op.Name == OpDrop || op.Name == OpDropped {
		err = errors.Join(h.alive(op.NetNS), err)
	}
	return r, err
}

// A node that is started anew in the middle of a partition is in it still.
func TestPartitionOutlivesRestart(t *testing.T) {
	c := &renewingCluster{fakeCluster: newFakeCluster()}
	injector := mortalHands{newFakeInjector(), c}
	env := &Env{Cluster: c, Injector: injector, Isolated: true}
	net := newNetwork(env)
	env.net = net
	c.AroundStart(env.starts.around)
	ctx := t.Context()
	toS1, toS2 := directedLink{from: "s2", to: "s1"}, directedLink{from: "s1", to: "s2"}
	drops := func(netns string) []string {
		injector.mu.Lock()
		defer injector.mu.Unlock()
		return injector.drops[netns]
	}
	if err := net.cut(ctx, "a", []directedLink{toS1, toS2}); err != nil {
		t.Fatal(err)
	}
	c.set("s1", 0, "")
	if err := net.probe(ctx, toS1); !errors.Is(err, errDown) {
		t.Errorf("a cut of a node that is down was probed: %v", err)
	}
	if err := net.cut(ctx, "a", []directedLink{{from: "s3", to: "s1"}}); err != nil {
		t.Errorf("a cut more while it is down: %v", err)
	}
	if err := c.around(ctx, "s1", func() error { c.set("s1", 500, "s1 again"); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := drops("s1 again"); !slices.Equal(got, []string{"10.0.0.2", "10.0.0.3"}) {
		t.Errorf("the new network drops packets from %v", got)
	}
	if err := c.around(ctx, "s3", func() error { return nil }); err != nil || drops("s3") != nil {
		t.Errorf("a node that is not cut off: %v, %v", drops("s3"), err)
	}
	c.set("s2", 0, "") // it dies, and the cut heals
	if err := net.uncut(ctx, "a", []directedLink{toS1, toS2}); err != nil {
		t.Errorf("heal while an end is down: %v", err)
	}
	if got := drops("s1 again"); !slices.Equal(got, []string{"10.0.0.3"}) {
		t.Errorf("healed, but drops packets from %v", got)
	}
}
