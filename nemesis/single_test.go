package nemesis

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// requested is a nemesis of a fake cluster, and what it records.
func requested(t *testing.T) (*Nemesis, *fakeCluster, *[]string) {
	t.Helper()
	c, told := newFakeCluster(), &[]string{}
	n, err := New(t.Context(), &Env{Cluster: c, Injector: newFakeInjector(), TTL: time.Second}, nil, 1, history.Now(), func(e history.Event) {
		*told = append(*told, e.F+" "+e.Phase)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, c, told
}

// Of two pauses of one node, the end of one would end both: they can only follow one another.
func TestSingle(t *testing.T) {
	n, _, _ := requested(t)
	pause := func(node string) FaultRequest { return FaultRequest{Kind: "pause", Nodes: []string{node}} }
	heal, err := n.Inject(t.Context(), pause("s1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Inject(t.Context(), pause("s1")); err == nil || !strings.Contains(err.Error(), "let them follow one another") {
		t.Errorf("a second one beside it: %v", err)
	}
	if heal, err := n.Inject(t.Context(), pause("s2")); err != nil {
		t.Errorf("another node: %v", err)
	} else if err := heal(t.Context()); err != nil {
		t.Error(err)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	heal, err = n.Inject(t.Context(), pause("s1"))
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	if err := heal(t.Context()); err != nil {
		t.Error(err)
	}
}

// A node that was killed and runs again is another process: it is not stopped, whatever its former one was.
func TestSingleEndsWithItsProcess(t *testing.T) {
	n, _, told := requested(t)
	healPause, err := n.Inject(t.Context(), FaultRequest{Kind: "pause", Nodes: []string{"s1"}})
	if err != nil {
		t.Fatal(err)
	}
	healOther, err := n.Inject(t.Context(), FaultRequest{Kind: "pause", Nodes: []string{"s2"}})
	if err != nil {
		t.Fatal(err)
	}
	healKill, err := n.Inject(t.Context(), FaultRequest{Kind: "kill", Nodes: []string{"s1"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, heal := range []func() error{func() error { return healKill(t.Context()) }, func() error { return healPause(t.Context()) }, func() error { return healOther(t.Context()) }} {
		if err := heal(); err != nil {
			t.Error(err)
		}
	}
	want := []string{"pause begin", "pause begin", "kill begin", "pause end", "kill end", "pause end"}
	if !slices.Equal(*told, want) {
		t.Errorf("recorded %q, want %q", *told, want)
	}
}

// A kill without data takes it also where another fault has brought the server back with it.
func TestWipeOfAServerThatRunsAgain(t *testing.T) {
	n, c, _ := requested(t)
	heal, err := n.Inject(t.Context(), FaultRequest{Kind: "kill", Nodes: []string{"s1"}, Wipe: true})
	if err != nil {
		t.Fatal(err)
	}
	c.setPID("s1", 555)
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"kill s1", "kill s1", "restart s1 true"}; !slices.Equal(c.log, want) {
		t.Errorf("%q, want %q", c.log, want)
	}
}

// A server that is stopped together with others is not killed by chance meanwhile: it would run again, and the history would have it stopped.
func TestNoKillInAGroup(t *testing.T) {
	n, _, told := requested(t)
	stop, err := Parse("pause:all")
	if err != nil {
		t.Fatal(err)
	}
	kill, err := Parse("kill:s1")
	if err != nil {
		t.Fatal(err)
	}
	group, err := stop.Plan.Pick(t.Context(), n.env, rand.New(rand.NewPCG(1, 1)), "")
	if err != nil || len(group.Nodes()) < 2 {
		t.Fatalf("%v, %v", group, err)
	}
	i, err := n.inject(t.Context(), stop.Kind, group)
	if err != nil {
		t.Fatal(err)
	}
	once := func() bool {
		did, err := n.injectOnce(t.Context(), t.Context(), kill, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return did
	}
	if once() {
		t.Errorf("s1 was killed: %q", *told)
	}
	if err := i.heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !once() {
		t.Errorf("s1 was not killed afterwards: %q", *told)
	}
}
