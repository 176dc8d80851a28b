package harness

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/scenarios"
)

// What a schedule does to more than its own clients and their links it does alone.
func TestOnlyClients(t *testing.T) {
	for _, x := range []struct {
		fault string
		want  bool
	}{
		{"", true},
		{"{when: before A's write, pause: A}", true},
		{"{when: A's acquire has sent message 1, kill: B}", true},
		{"{when: before A's write, clock: A +3s}", true},
		{"{when: before A's acquire, 'cut': A from servers}", true},
		{"{when: before A's acquire, hold: servers to A}", true},
		{"{when: before A's write, hold: A to register}", true},
		{"{when: before A's acquire, 'reset': A to servers}", true},
		{"{when: before A's acquire, pause: servers}", false},
		{"{when: before A's acquire, pause: redis}", false},
		{"{when: before A's acquire, clock: redis +3s}", false},
		{"{when: before A's acquire, cut: redis1 from redis2}", false},
		{"{when: before A's acquire, failover: redis}", false},
		{"{when: before A's acquire, 'disk': redis stall}", false},
		{"{when: B waiting, pause: A, until: B granted}", true},
	} {
		text := "name: x\nabout: x\nlocks: [redis]\nclients:\n  A: acquire, write, release\n  B: await A granted, acquire, write, release\n"
		if x.fault != "" {
			text += "faults:\n- " + x.fault + "\n"
		}
		s, err := scenarios.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", x.fault, err)
			continue
		}
		if got := OnlyClients(s, []string{"A", "B", "C"}); got != x.want {
			t.Errorf("%s: %v, want %v", x.fault, got, x.want)
		}
	}
}

// nodesOf is a cluster that has nodes and kills them.
type nodesOf struct {
	compose.Cluster
	nodes  []compose.Node
	killed []string
}

func (c *nodesOf) Nodes() []compose.Node { return c.nodes }

func (c *nodesOf) Kill(_ context.Context, name string) error {
	c.killed = append(c.killed, name)
	return nil
}

// A set sees what all share and its own clients, by their own names.
func TestSetCluster(t *testing.T) {
	c := &nodesOf{nodes: []compose.Node{
		{Name: "redis", Role: compose.Server},
		{Name: "register", Role: compose.Register},
		{Name: "A", Role: compose.Client, Addr: "1"},
		{Name: "A-2", Role: compose.Client, Addr: "2"},
		{Name: "A-12", Role: compose.Client, Addr: "3"},
	}}
	for number, addr := range map[int]string{1: "1", 2: "2", 12: "3"} {
		set := newSetCluster(c, []string{"A", "B"}, number)
		var names []string
		for _, n := range set.Nodes() {
			if names = append(names, n.Name); n.Name == "A" && n.Addr != addr {
				t.Errorf("set %d has the client at %s", number, n.Addr)
			}
		}
		if !slices.Equal(names, []string{"redis", "register", "A"}) {
			t.Errorf("set %d sees %v", number, names)
		}
	}
	second := newSetCluster(c, []string{"A", "B"}, 2)
	if err := errors.Join(second.Kill(t.Context(), "A"), second.Kill(t.Context(), "redis")); err != nil || !slices.Equal(c.killed, []string{"A-2", "redis"}) {
		t.Errorf("%v, %v", c.killed, err)
	}
}

// One that has the testbed to itself waits for those that run, and those that come after it wait for it.
func TestEnter(t *testing.T) {
	l := &Testbed{sets: 2, at: &bed{}, changed: make(chan struct{})}
	enter := func(alone bool) <-chan error {
		in := make(chan error, 1)
		go func() { in <- l.enter(t.Context(), alone) }()
		return in
	}
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
		l.only = false
		l.change()
	}
	waits := func(in <-chan error, why string) {
		t.Helper()
		select {
		case err := <-in:
			t.Fatalf("%s: it entered (%v)", why, err)
		default:
		}
	}
	for range 2 {
		if err := <-enter(false); err != nil {
			t.Fatal(err)
		}
	}
	third := enter(false)
	waits(third, "a third beside two")
	leave()
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	leave() // one is left
	alone := enter(true)
	for wanting := 0; wanting == 0; { // until it has come
		l.mu.Lock()
		wanting = l.wanting
		l.mu.Unlock()
	}
	after := enter(false)
	waits(after, "one that came after one that wants to be alone")
	waits(alone, "one that wants to be alone")
	leave()
	if err := <-alone; err != nil {
		t.Fatal(err)
	}
	waits(after, "beside one that is alone")
	leave()
	if err := <-after; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.enter(ctx, true); !errors.Is(err, context.Canceled) || l.wanting != 0 {
		t.Errorf("one that gave up: %v, %d wait", err, l.wanting)
	}
}
