package nemesis

import (
	"math/rand/v2"
	"testing"

	"github.com/picklock/picklock/compose"
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
