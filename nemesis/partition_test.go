package nemesis

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
)

// TestRegisterThatAsks: a register that asks the lock's servers is cut off from them
// with everybody else, and only then; its clients reach it all the same.
func TestRegisterThatAsks(t *testing.T) {
	for _, tc := range []struct {
		fault            string
		asks             bool
		clients, servers bool // is the register cut off from some
	}{
		{"s1", false, false, false},
		{"s1", true, false, true},
		{"minority:out", true, false, true},
		{"halves", true, false, true},
		{"halves", false, false, false},
		{"c1", true, false, false},
		{"holder", true, false, false},
		{"s1:clients", true, false, false},
		{"c1:register", true, true, false},
		{"all:register", true, false, true},
	} {
		spec, err := Parse("partition:" + tc.fault)
		if err != nil {
			t.Fatal(err)
		}
		env := &Env{Cluster: newFakeCluster(), Isolated: true, Asks: tc.asks, watch: newWatch(false)}
		f, err := spec.Plan.Pick(t.Context(), env, rand.New(rand.NewPCG(1, 2)), "c1")
		if err != nil {
			t.Fatal(err)
		}
		role := map[string]compose.Role{}
		for _, n := range env.Cluster.Nodes() {
			role[n.Name] = n.Role
		}
		met := map[compose.Role]bool{}
		for _, c := range f.(*partition).links {
			if c.from == "register" {
				met[role[c.to]] = true
			}
			if c.to == "register" {
				met[role[c.from]] = true
			}
		}
		if met[compose.Client] != tc.clients || met[compose.Server] != tc.servers {
			t.Errorf("partition:%s, register asks %v: cut off from clients %v, from servers %v; want %v, %v",
				tc.fault, tc.asks, met[compose.Client], met[compose.Server], tc.clients, tc.servers)
		}
	}
}

// TestCutOutlastsARequest: a cut-off holder stays so until what it asks may be given up, though another client has written
// long before. A holder that is stopped goes on then.
func TestCutOutlastsARequest(t *testing.T) {
	defer goleak.VerifyNone(t)
	for fault, least := range map[string]time.Duration{"partition:holder:servers:in": 300 * time.Millisecond, "pause:holder": 0} {
		spec, err := Parse(fault)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var at []int64
		env := &Env{Cluster: newFakeCluster(), Injector: newFakeInjector(), Isolated: true, TTL: 10 * time.Second}
		n, err := New(ctx, env, []Spec{spec}, 7, history.Now(), func(e history.Event) {
			if at = append(at, history.Now()); e.Phase == history.End {
				cancel()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- n.Run(context.Background(), ctx, ctx) }()
		for over := false; !over; {
			n.Observe(history.Event{Process: "c1", Type: history.OK, F: history.Read, Key: "k0"})
			n.Observe(history.Event{Process: "c2", Type: history.OK, F: history.Write, Key: "k0"})
			select {
			case err := <-done:
				if over = true; err != nil {
					t.Fatal(err)
				}
			case <-time.After(time.Millisecond):
			}
		}
		cancel()
		if len(at) != 2 {
			t.Fatalf("%s: %d events", fault, len(at))
		}
		took := time.Duration(at[1] - at[0])
		if most := env.TTL / 2; took < least*9/10 || took > most {
			t.Errorf("%s lasted %v, want at least %v and less than %v", fault, took, least, most)
		}
	}
}
