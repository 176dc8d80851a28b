package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// shaped picks a partition of a cluster with so many servers and clients.
func shaped(t *testing.T, fault string, servers, clients int, seed uint64) (*partition, error) {
	t.Helper()
	spec, err := Parse("partition:" + fault)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []string{"register"}
	for i := range servers {
		nodes = append(nodes, fmt.Sprint("s", i+1))
	}
	for i := range clients {
		nodes = append(nodes, fmt.Sprint("c", i+1))
	}
	env := &Env{Cluster: newFake(nodes...), Isolated: true, watch: newWatch(false)}
	f, err := spec.Plan.Pick(t.Context(), env, rand.New(rand.NewPCG(seed, 2)), "")
	if err != nil {
		return nil, err
	}
	return f.(*partition), nil
}

// hears is, by server, the servers that it hears, itself among them.
func (p *partition) hears(servers int) map[string][]string {
	out := map[string][]string{}
	for i := range servers {
		to := fmt.Sprint("s", i+1)
		for k := range servers {
			if from := fmt.Sprint("s", k+1); !slices.Contains(p.links, directedLink{from, to}) {
				out[to] = append(out[to], from)
			}
		}
	}
	return out
}

// TestBridge: two groups of servers and clients, and one server between them.
func TestBridge(t *testing.T) {
	for _, fault := range []string{"bridge", "bridge:servers"} {
		for servers := 3; servers <= 7; servers++ {
			f, err := shaped(t, fault, servers, 4, uint64(servers))
			if err != nil {
				t.Fatal(err)
			}
			middle, groups := "", map[string]bool{}
			for to, heard := range f.hears(servers) {
				if len(heard) == servers {
					if middle != "" {
						t.Errorf("%s of %d: both %s and %s are between the others", fault, servers, middle, to)
					}
					middle = to
				} else {
					groups[strings.Join(heard, " ")] = true
				}
			}
			if middle == "" || len(groups) != 2 || !strings.HasSuffix(f.Detail(), "; "+middle+" hears both") || slices.Contains(f.Nodes(), middle) {
				t.Errorf("%s of %d: %s is between %v: %s of %v", fault, servers, middle, groups, f.Detail(), f.Nodes())
			}
			for g := range groups {
				if !strings.Contains(g, middle) {
					t.Errorf("%s of %d: %s do not hear %s", fault, servers, g, middle)
				}
			}
			clients := 0
			for _, c := range f.links {
				if c.from[0] == 'c' && c.to[0] == 'c' || c.from == middle || c.to == middle || c.from == "register" || c.to == "register" {
					t.Errorf("%s of %d: %v", fault, servers, c)
				}
				if !slices.Contains(f.links, directedLink{c.to, c.from}) {
					t.Errorf("%s of %d: %v goes one way only", fault, servers, c)
				}
				if c.from[0] == 'c' {
					clients++
				}
			}
			if (clients > 0) != (fault == "bridge") {
				t.Errorf("%s of %d: %d cuts from clients", fault, servers, clients)
			}
		}
	}
	if f, err := shaped(t, "bridge:out", 3, 2, 1); err != nil || slices.Contains(f.links, directedLink{f.links[0].to, f.links[0].from}) || !strings.Contains(f.Detail(), " not heard by ") {
		t.Errorf("one way: %+v, %v", f, err)
	}
}

// TestRing: each server hears a majority, and no two hear the same.
func TestRing(t *testing.T) {
	for servers := 3; servers <= 9; servers++ {
		f, err := shaped(t, "ring", servers, 2, uint64(servers))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for to, heard := range f.hears(servers) {
			if 2*len(heard) <= servers || len(heard) == servers {
				t.Errorf("of %d, %s hears %v", servers, to, heard)
			}
			seen[strings.Join(heard, " ")] = true
		}
		if len(seen) != servers || len(f.Nodes()) != servers {
			t.Errorf("of %d: %d majorities, nodes %v", servers, len(seen), f.Nodes())
		}
		for _, c := range f.links {
			if back := slices.Contains(f.links, directedLink{c.to, c.from}); back != (servers > 3) || c.from[0] != 's' || c.to[0] != 's' {
				t.Errorf("of %d: %v, the way back too: %v", servers, c, back)
			}
		}
	}
}

func TestShapesNeedServers(t *testing.T) {
	for _, fault := range []string{"bridge", "ring"} {
		if _, err := shaped(t, fault, 2, 2, 1); err == nil || !strings.Contains(err.Error(), "needs three servers") {
			t.Errorf("%s of two: %v", fault, err)
		}
	}
}

// TestShapesDiffer: another time, another server is between the others.
func TestShapesDiffer(t *testing.T) {
	for _, fault := range []string{"bridge", "ring"} {
		seen := map[string]bool{}
		for seed := range uint64(20) {
			f, err := shaped(t, fault, 5, 2, seed)
			if err != nil {
				t.Fatal(err)
			}
			seen[f.Detail()] = true
		}
		if len(seen) < 5 {
			t.Errorf("%s: 20 times, %d of them different", fault, len(seen))
		}
	}
}
