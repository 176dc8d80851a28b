package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
)

// prepared is a nemesis with one entry of --faults, for a cluster of these roles.
func prepared(t *testing.T, fault string, env *Env, without ...compose.Role) (*Nemesis, error) {
	t.Helper()
	spec, err := Parse(fault)
	if err != nil {
		t.Fatal(err)
	}
	c := newFakeCluster()
	c.nodes = slices.DeleteFunc(c.nodes, func(n compose.Node) bool { return slices.Contains(without, n.Role) })
	env.Cluster, env.TTL = c, time.Second
	if env.Injector == nil {
		env.Injector = newFakeInjector()
	}
	return New(t.Context(), env, []Spec{spec}, 1, 0, nil)
}

// drawn counts what so many injections of an entry are drawn from.
func drawn(n *Nemesis, injections int) map[string]int {
	out := map[string]int{}
	d := newDraw(n.specs[0], rand.New(rand.NewPCG(3, 0)))
	for range injections {
		out[d.next().Text]++
	}
	return out
}

func TestAPlainWordFallsOnClientsAsWellAsOnServers(t *testing.T) {
	for fault, want := range map[string][]string{
		"pause": {"pause:client", "pause:one"}, "kill": {"kill:client", "kill:one"}, "clock": {"clock:client", "clock:one"},
		"partition": {"partition:client", "partition:one"}, "pause:held": {"pause:client:held", "pause:one:held"},
	} {
		n, err := prepared(t, fault, &Env{Isolated: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := drawn(n, 10); len(got) != 2 || got[want[0]] != 5 || got[want[1]] != 5 {
			t.Errorf("%s: %v, want %v", fault, got, want)
		}
	}
	n, err := prepared(t, "pause", &Env{}, compose.Server)
	if err != nil {
		t.Fatal(err)
	}
	if got := drawn(n, 4); got["pause:client"] != 4 {
		t.Errorf("without servers: %v", got)
	}
}

// noClock is a machine that cannot shift clocks.
type noClock struct{ *fakeInjector }

func (n noClock) Do(ctx context.Context, op Op) (Result, error) {
	if op.Name == OpTryClock {
		return Result{}, errors.New("no clocks here")
	}
	return n.fakeInjector.Do(ctx, op)
}

func TestAllIsWhatTheClusterCanTake(t *testing.T) {
	for name, tt := range map[string]struct {
		env     Env
		without []compose.Role
		has     []string
		hasNot  []string // as a prefix
	}{
		"everything there": {Env{Isolated: true}, nil, []string{"pause:holder", "pause:waiter", "kill:leader", "partition:holder:register", "partition:halves", "partition:bridge", "partition:ring", "clock:waiter", "clock:client:strobe", "clock:leader:strobe"}, []string{"failover", "powerloss", "kill:one:wipe"}},
		"one network":      {Env{}, nil, []string{"pause:waiter", "kill:one"}, []string{"partition"}},
		"no servers":       {Env{Isolated: true}, []compose.Role{compose.Server}, []string{"pause:holder", "partition:holder:register", "clock:client"}, []string{"pause:leader", "kill:one", "partition:leader", "partition:bridge", "partition:ring", "clock:leader"}},
		"no clocks":        {Env{Isolated: true, Injector: noClock{newFakeInjector()}}, nil, []string{"kill:waiter"}, []string{"clock"}},
	} {
		n, err := prepared(t, All, &tt.env, tt.without...)
		if err != nil {
			t.Fatal(name, err)
		}
		got := n.Drawn()
		for _, want := range tt.has {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %s among %v", name, want, got)
			}
		}
		for _, not := range tt.hasNot {
			if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, not) }) {
				t.Errorf("%s: %s among %v", name, not, got)
			}
		}
		if left := strings.Join(n.LeftOut(), "; "); strings.Contains(left, "no clocks here") != (name == "no clocks") || strings.Contains(left, "partition") != (tt.env.Isolated == false) {
			t.Errorf("%s: left out: %s", name, left)
		}
		tracks := 3 // two for clients, one for servers
		if len(tt.without) > 0 {
			tracks = 2
		}
		if len(n.tracks()) != tracks {
			t.Errorf("%s: %d tracks, want %d", name, len(n.tracks()), tracks)
		}
	}
	if n, err := prepared(t, "pause:holder", &Env{}); err != nil || n.Drawn() != nil || n.LeftOut() != nil {
		t.Errorf("a fault of its own: drawn from %v, left out %v, %v", n.Drawn(), n.LeftOut(), err)
	}
	if _, err := prepared(t, "pause", &Env{}, compose.Server, compose.Client); err == nil || !strings.Contains(err.Error(), "no node that it could hit") {
		t.Errorf("no node to hit: %v", err)
	}
}

// A kind with many targets does not push the others out, and no target another.
func TestAllDrawsKindsEvenly(t *testing.T) {
	n, err := prepared(t, All, &Env{Isolated: true}, compose.Server)
	if err != nil {
		t.Fatal(err)
	}
	targets, share, perKind := map[string]int{}, map[string]int{}, map[string]int{}
	round := 0
	for _, o := range n.specs[0].OneOf {
		if name := o.Kind.Name; targets[name] == 0 {
			share[name] = max(1, o.Kind.Share)
			round += share[name]
		}
		targets[o.Kind.Name]++
	}
	const rounds = 60
	got := drawn(n, rounds*round)
	for text, times := range got {
		kind, _, _ := strings.Cut(text, ":")
		perKind[kind] += times
		if least := rounds * share[kind] / targets[kind]; times < least {
			t.Errorf("%s was drawn %d times, want at least %d", text, times, least)
		}
	}
	for kind, times := range perKind {
		if times != rounds*share[kind] {
			t.Errorf("%s was drawn %d times, want %d", kind, times, rounds*share[kind])
		}
	}
}

// A client that was answered does not wait any more, whatever the answer was.
func TestWaiters(t *testing.T) {
	w := newWatch(false)
	for _, e := range []history.Event{
		{Process: "c1", F: history.Acquire, Type: history.Invoke}, {Process: "c2", F: history.Acquire, Type: history.Invoke},
		{Process: "c3", F: history.Acquire, Type: history.Invoke}, {Process: "c4", F: history.Release, Type: history.Invoke},
		{Process: "c2", F: history.Acquire, Type: history.OK}, {Process: "c3", F: history.Acquire, Type: history.Fail},
	} {
		w.observe(e)
	}
	if got := w.asking(); !slices.Equal(got, []string{"c1"}) {
		t.Errorf("waiting are %v", got)
	}
}

// A holder's fault ends when another has written, or before: when it has read.
func TestHarmIsDone(t *testing.T) {
	over := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	w := newWatch(false)
	seen := func(process, f string) {
		w.observe(history.Event{Process: process, Key: "k0", F: f, Type: history.OK})
	}
	seen("c1", history.Read)
	early, late := w.harm("c1", true), w.harm("c1", false)
	seen("c1", history.Read)
	if over(early) || over(late) {
		t.Error("ended by the victim's own read")
	}
	seen("c2", history.Read)
	if !over(early) || over(late) {
		t.Errorf("after another's read: early %v, late %v", over(early), over(late))
	}
	seen("c2", history.Write)
	if !over(late) {
		t.Error("not ended by another's write")
	}
}

// missing is a cluster whose first kills fail: the fault takes no effect.
type missing struct {
	*fakeCluster
	kills atomic.Int32
}

func (c *missing) Kill(ctx context.Context, name string) error {
	if c.kills.Add(1) <= 3 {
		return errors.New("not this time")
	}
	return c.fakeCluster.Kill(ctx, name)
}

// If the time was too short for a kind of All, it is tried later: a run without it could not be
// judged. A fault that was asked for by name, and a run that is given up, are at their end.
func TestWhatHasNotTakenEffectIsTriedLater(t *testing.T) {
	defer goleak.VerifyNone(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	tookEffect := func(fault string, late context.Context) ([]string, *Nemesis) {
		spec, err := Parse(fault)
		if err != nil {
			t.Fatal(err)
		}
		// There is no connection here that could be reset.
		spec.OneOf = slices.DeleteFunc(spec.OneOf, func(s Spec) bool { return s.Kind.Name == "reset" })
		var mu sync.Mutex
		var kinds []string
		env := &Env{Cluster: &missing{fakeCluster: newFakeCluster()}, Injector: newFakeInjector(), Isolated: true, TTL: 5 * time.Millisecond, Respawn: func(context.Context, string) error { return nil }}
		n, err := New(t.Context(), env, []Spec{spec}, 3, history.Now(), func(e history.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Confirmed && !slices.Contains(kinds, e.F) {
				kinds = append(kinds, e.F)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- n.Run(t.Context(), over, late) }()
		for {
			n.Observe(history.Event{Process: "c1", Type: history.OK, F: history.Read, Key: "k0"})
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(kinds)
				return kinds, n
			case <-time.After(time.Millisecond):
			}
		}
	}
	late, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	got, n := tookEffect(All, late)
	if want := n.specs[0].Kinds(); !slices.Equal(got, want) || len(n.Outstanding()) != 0 {
		t.Errorf("took effect: %v, want %v; outstanding %v", got, want, n.Outstanding())
	}
	if late.Err() != nil {
		t.Error("it went on when everything had taken effect")
	}
	if got, n := tookEffect(All, over); len(got) != 0 || !slices.Equal(n.Outstanding(), n.specs[0].Kinds()) {
		t.Errorf("given up: took effect %v, outstanding %v", got, n.Outstanding())
	}
	if got, n := tookEffect("pause", late); len(got) != 0 || len(n.Outstanding()) != 0 {
		t.Errorf("by name: took effect %v, outstanding %v", got, n.Outstanding())
	}
}
