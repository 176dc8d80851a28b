package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
)

// runOnce runs one fault until it has begun, then ends the run, and returns
// the nemesis's events.
func runOnce(t *testing.T, c *fakeCluster, h *fakeInjector, fault string) []history.Event {
	t.Helper()
	defer goleak.VerifyNone(t)
	spec, err := Parse(fault)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var events []history.Event
	env := &Env{Cluster: c, Injector: h, Isolated: true, TTL: 20 * time.Millisecond, Respawn: func(_ context.Context, name string) error {
		c.note("respawn %s", name)
		c.setPID(name, 998)
		return nil
	}}
	n, err := New(ctx, env, []Spec{spec}, 7, history.Now(), func(e history.Event) {
		events = append(events, e)
		cancel()
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- n.Run(context.Background(), ctx, ctx) }()
	for {
		// Now and then a client has read and not yet written.
		n.Observe(history.Event{Process: "c1", Type: history.OK, F: history.Read, Key: "k0"})
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return events
		case <-time.After(time.Millisecond):
		}
	}
}

func TestFaultsLandAndHeal(t *testing.T) {
	for _, fault := range []string{"hold:holder:register:out", "hold:leader:servers", "pause", "pause:holder", "pause:leader", "pause:all", "kill:minority:wipe", "kill:holder",
		"partition:halves", "partition:bridge", "partition:bridge:servers:out", "partition:ring", "partition:leader:servers:out", "partition:holder:register", "slow:one:40ms", "slow:holder:out:10ms", "loss:leader", "flap:client:5ms", "clock:majority", "clock:client:-1s",
		"clock:majority:x1.5", "clock:s1:x0.5", "clock:all:strobe", "clock:client:strobe:-20ms"} {
		t.Run(fault, func(t *testing.T) {
			c, h := newFakeCluster(), newFakeInjector()
			events := runOnce(t, c, h, fault)
			if len(events) != 2 || events[0].Phase != history.Begin || !events[0].Confirmed || events[1].Phase != history.End || events[1].Since <= events[0].Time || events[1].Since > events[1].Time {
				t.Fatalf("events %+v, want a begin that took effect and an end", events)
			}
			for pid, stopped := range h.stopped {
				if stopped {
					t.Errorf("process %d is still stopped", pid)
				}
			}
			for netns, from := range h.drops {
				if len(from) > 0 {
					t.Errorf("%s still drops packets from %v", netns, from)
				}
			}
			if len(h.wires) > 0 {
				t.Errorf("some links are still held or shaped: %v", h.wires)
			}
			for pid, to := range h.clocks {
				if !to.Right() {
					t.Errorf("the clock of process %d is still set to %s", pid, wrongness(to))
				}
			}
			for _, n := range c.Nodes() {
				if n.PID == 0 {
					t.Errorf("%s is still down", n.Name)
				}
			}
		})
	}
}

// With the word held, a fault waits for a client that has read.
func TestHeldWaitsForAHolder(t *testing.T) {
	for text, want := range map[string]bool{"kill:one": false, "kill:one:held": true, "pause:holder": true} {
		spec, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.Plan.whileHeld(); got != want {
			t.Errorf("%s waits for a holder: %v, want %v", text, got, want)
		}
	}
}

// A fault whose effect was not observed is not confirmed, and is healed all the same.
func TestUnobservedFaultIsNotConfirmed(t *testing.T) {
	for _, fault := range []string{"pause", "partition", "clock:one:x2"} {
		t.Run(fault, func(t *testing.T) {
			h := newFakeInjector()
			h.numb = true
			events := runOnce(t, newFakeCluster(), h, fault)
			if len(events) != 2 || events[0].Confirmed || events[0].Error == "" {
				t.Errorf("events %+v, want one that did not take effect", events)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	c := newFakeCluster()
	tests := map[string]string{
		"pause:holder": "c1", "pause:leader": "s2", "pause:all": "s1 s2 s3", "pause:s3": "s3",
		"kill:wipe": "one server", "kill:server": "one server", "pause:majority": "two servers", "pause:minority": "one server", "pause:client": "one client",
	}
	for fault, want := range tests {
		nodes := runOnce(t, newFakeCluster(), newFakeInjector(), fault)[0].Nodes
		got := strings.Join(nodes, " ")
		role := func(name string) compose.Role {
			for _, n := range c.nodes {
				if n.Name == name {
					return n.Role
				}
			}
			return ""
		}
		switch want {
		case "one server", "two servers", "one client":
			count, r := 1, compose.Server
			if want == "two servers" {
				count = 2
			}
			if want == "one client" {
				r = compose.Client
			}
			if len(nodes) != count || role(nodes[0]) != r {
				t.Errorf("%s hit %s, want %s", fault, got, want)
			}
		default:
			if got != want {
				t.Errorf("%s hit %s, want %s", fault, got, want)
			}
		}
	}
}

func TestImpossibleFaultsAreRefused(t *testing.T) {
	tests := []struct{ fault, want string }{
		{"pause:s9", `no target or node "s9"`},
		{"partition:c1:clients", "c1 has no link to other clients"},
	}
	for _, tt := range tests {
		spec, err := Parse(tt.fault)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(t.Context(), &Env{Cluster: newFakeCluster(), Injector: newFakeInjector(), Isolated: true, TTL: time.Second}, []Spec{spec}, 1, 0, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.fault, err, tt.want)
		}
	}
	spec, err := Parse("partition")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), &Env{Cluster: newFakeCluster(), Injector: newFakeInjector(), TTL: time.Second}, []Spec{spec}, 1, 0, nil); err == nil {
		t.Error("a partition of one shared network was not refused")
	}
}

// Two faults may want the same cut; the end of one must not heal the other's.
func TestOverlappingCuts(t *testing.T) {
	h := newFakeInjector()
	cs := newNetwork(&Env{Cluster: newFakeCluster(), Injector: h})
	a, b := []directedLink{{"s1", "s2"}, {"s3", "s2"}}, []directedLink{{"s1", "s2"}}
	steps := []struct {
		do   func(context.Context, owner, []directedLink) error
		by   owner
		cuts []directedLink
		want []string
	}{
		{cs.cut, "a", a, []string{"10.0.0.1", "10.0.0.3"}},
		{cs.cut, "b", b, []string{"10.0.0.1", "10.0.0.3"}},
		{cs.uncut, "a", a, []string{"10.0.0.1"}},
		{cs.uncut, "a", a, []string{"10.0.0.1"}}, // it is healed again
		{cs.uncut, "b", b, nil},
	}
	for i, s := range steps {
		if err := s.do(t.Context(), s.by, s.cuts); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if got := h.drops["s2"]; !slices.Equal(got, s.want) {
			t.Errorf("step %d: s2 drops %v, want %v", i, got, s.want)
		}
	}
}

// countedFault fails to take effect, or to heal, as often as its fields say.
type countedFault struct {
	deaf                bool // its effect is never seen
	healErrors          int
	injected, healed    int
	verified, attempted int
}

func (*countedFault) Nodes() []string { return []string{"s1"} }
func (*countedFault) Detail() string  { return "counted" }
func (*countedFault) Steps() []string { return []string{"count: s1"} }
func (f *countedFault) Inject(context.Context) error {
	f.injected++
	return nil
}

func (f *countedFault) Verify(context.Context) error {
	f.verified++
	if f.deaf {
		return errors.New("nothing to be seen")
	}
	return nil
}

func (f *countedFault) Heal(context.Context) error {
	f.attempted++
	if f.attempted <= f.healErrors {
		return errors.New("not yet")
	}
	f.healed++
	return nil
}

// Confirmed or not, a fault is injected once, healed once, and its
// begin and its end are recorded once each.
func TestHealedOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault countedFault
		heals int // how often its caller heals it
	}{
		{"takes effect", countedFault{}, 1},
		{"takes effect, healed by two", countedFault{}, 3},
		{"takes no effect", countedFault{deaf: true}, 0},
		{"heals at the second attempt", countedFault{healErrors: 1}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &tt.fault
			kind := Kind{Name: "counted", Possible: func(*Env) error { return nil }, Make: func(context.Context, *Env, Plan, chance) (Fault, error) { return f, nil }}
			old := kinds
			kinds = append(slices.Clone(kinds), kind)
			defer func() { kinds = old }()
			var events []history.Event
			n, err := New(t.Context(), &Env{Cluster: newFakeCluster(), Injector: newFakeInjector(), TTL: time.Second}, nil, 1, history.Now(), func(e history.Event) { events = append(events, e) })
			if err != nil {
				t.Fatal(err)
			}
			heal, err := n.Inject(t.Context(), FaultRequest{Kind: "counted", Nodes: []string{"s1"}})
			if (err != nil) != tt.fault.deaf {
				t.Fatal(err)
			}
			for i := range tt.heals {
				if err := heal(t.Context()); (err != nil) != (i < tt.fault.healErrors) {
					t.Fatal(err)
				}
			}
			if f.injected != 1 || f.verified != 1 || f.healed != 1 {
				t.Errorf("injected %d times, verified %d, healed %d; want once each", f.injected, f.verified, f.healed)
			}
			if len(events) != 2 || events[0].Phase != history.Begin || events[0].Confirmed == f.deaf || events[1].Phase != history.End {
				t.Errorf("events %+v, want one begin and one end", events)
			}
			if events[0].Fault != "count: s1" || events[1].Fault != "" {
				t.Errorf("events %+v, want the fault's steps on its begin only", events)
			}
		})
	}
}

// A server that ends as soon as it is started again is how that server is: it is recorded,
// the fault stays, and the run goes on. What else keeps a fault from being healed is an error.
func TestServerDoesNotComeBack(t *testing.T) {
	for name, tt := range map[string]struct {
		stays error
		ends  bool // the fault, which is no longer what keeps the server down
		want  string
	}{
		"ended":                   {fmt.Errorf("start s1: %w", compose.ErrEnded), false, ""},
		"killed by another fault": {fmt.Errorf("start s1: %w", compose.ErrKilled), true, ""},
		"started by another":      {fmt.Errorf("start s1: %w", compose.ErrRuns), true, ""},
		"no cause":                {errors.New("start s1: no answer"), false, "heal kill of s1: start s1: no answer"},
	} {
		c := newFakeCluster()
		c.stays = tt.stays
		over, cancel := context.WithTimeout(t.Context(), time.Minute)
		var events []history.Event
		env := &Env{Cluster: c, Injector: newFakeInjector(), TTL: time.Millisecond}
		spec, err := Parse("kill:s1")
		if err != nil {
			t.Fatal(err)
		}
		n, err := New(t.Context(), env, []Spec{spec}, 1, history.Now(), func(e history.Event) {
			events = append(events, e)
			if e.Phase != history.Begin {
				cancel()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		err = n.Run(t.Context(), over, over)
		cancel()
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.ends:
			if len(events) != 2 || events[1].Phase != history.End || events[1].Error != "" {
				t.Errorf("%s: %+v", name, events)
			}
		case len(events) != 2 || events[1].Phase != "" || !strings.HasPrefix(events[1].Error, "s1 did not start again") || !strings.Contains(events[1].Detail, tt.stays.Error()):
			t.Errorf("%s: %+v", name, events)
		}
	}
}
