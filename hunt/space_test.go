package hunt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Every point of the space can be written and read, is given once, and in one order.
func TestSpace(t *testing.T) {
	for _, servers := range []int{0, 1, 3, 5} {
		for _, permits := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d servers, %d permits", servers, permits), func(t *testing.T) {
				on := target(servers, permits)
				seen := map[string]bool{}
				var first []string
				early := map[string]bool{} // pairs that come before their turn
				for _, c := range impaired(on, workloads(on)) {
					early[idOf(c.workload, c.triggered[:])] = true
				}
				at := 0
				for p := range space(on, 2) {
					k := key(p.schedule)
					if seen[k] {
						t.Fatalf("twice:\n%s", k)
					}
					seen[k] = true
					later := p.depth == 0 && at == 1 && len(narrow[p.workload].ends) > 0 // after each fault's first turn
					if p.depth < at && !later || p.depth != len(p.schedule.TriggeredFaults) {
						t.Fatalf("depth %d with %d faults after depth %d", p.depth, len(p.schedule.TriggeredFaults), at)
					}
					if !early[p.id] {
						at = max(at, p.depth)
					}
					if len(first) < 1000 {
						first = append(first, k)
					}
					if p.depth == 2 && len(seen)%29 != 0 {
						continue // of the many pairs some
					}
					s, err := scenarios.Parse("schedule.yaml", p.schedule.Write())
					if err != nil {
						t.Fatalf("%v\n%s", err, text(p.schedule))
					}
					if text(s) != text(p.schedule) {
						t.Fatalf("written\n%s\nread\n%s", text(p.schedule), text(s))
					}
				}
				if at != 2 {
					t.Errorf("no pairs")
				}
				i := 0
				for p := range space(on, 2) {
					if i == len(first) {
						break
					}
					if key(p.schedule) != first[i] {
						t.Fatalf("point %d is another one the second time", i)
					}
					i++
				}
				t.Logf("%d points, %d with at most one fault", len(seen), points(on, 1))
			})
		}
	}
}

// What differs in names only is tried once.
func TestSymmetry(t *testing.T) {
	on := target(3, 1)
	race := map[string]bool{}
	for p := range space(on, 1) {
		for _, st := range p.schedule.TriggeredFaults {
			nodes := slices.Concat(st.Fault.Nodes, st.Fault.Peers)
			if slices.Contains(nodes, "s2") && !slices.Contains(nodes, "s1") || slices.Contains(nodes, "s3") && !slices.Contains(nodes, "s2") {
				t.Errorf("%s: the first servers stand for all", st)
			}
			if p.workload == "race" {
				race[st.String()] = true
			}
		}
	}
	if a, b := "pause: A when before A's write until after B's write or 3 leases", "pause: B when before B's write until after A's write or 3 leases"; race[a] == race[b] {
		t.Errorf("a pause before the write: A's %v, B's %v, want one of them", race[a], race[b])
	}
	for text := range race {
		for a, b := range map[string]string{"A": "B", "B": "C"} {
			other := renamed(text, map[string]string{a: b, b: a})
			if other != text && race[other] {
				t.Errorf("%q and %q are the same among clients that do the same", text, other)
			}
		}
	}
	for _, w := range workloads(on) {
		want := map[string]int{"race": 6, turns: 6, alone: 2, five: 6}[w.name]
		if n := len(w.swaps); n != max(want, 1) {
			t.Errorf("%s: its clients can swap places in %d ways", w.name, n)
		}
	}
}

// Faults of kinds that are not asked for are left out, and those of servers where there are
// none.
func TestKinds(t *testing.T) {
	for p := range space(target(1, 1, "pause"), 2) {
		for _, st := range p.schedule.TriggeredFaults {
			if st.Fault.Word != "pause" {
				t.Fatalf("%s among pauses", st)
			}
		}
	}
	for p := range space(target(0, 1), 1) {
		for _, st := range p.schedule.TriggeredFaults {
			if strings.Contains(st.String(), scenarios.Servers) || st.When.At == scenarios.Sent || st.When.At == scenarios.Answered {
				t.Fatalf("%s without servers", st)
			}
		}
	}
}

// What the cluster can never do is not in the space, and is named.
func TestUnableIsNotTried(t *testing.T) {
	const why = "it has no replicas"
	for _, tt := range []struct {
		unable string
		kinds  []string
		named  []string
	}{
		{"failover", nil, []string{"failover: " + why}},
		{"failover", []string{"pause"}, nil}, // nobody asked for it
		{"refuse", nil, []string{"refuse: " + why}},
		{WipeFault, []string{"kill:server"}, []string{WipeFault + ": " + why}},
		{WipeFault, []string{"kill:client"}, nil},
	} {
		tg := target(3, 1, tt.kinds...)
		texts := func() (out []string) {
			for _, f := range faults(tg, clientNames[:2]) {
				if strings.HasPrefix(f.text, "failover") || strings.HasPrefix(f.text, "refuse") || strings.HasPrefix(f.text, "kill: s") {
					out = append(out, f.text)
				}
			}
			return out
		}
		before := texts()
		tg.Unable = map[string]string{tt.unable: why}
		want := slices.DeleteFunc(slices.Clone(before), func(f string) bool {
			return tt.unable == WipeFault && strings.HasSuffix(f, withoutData) || tt.unable != WipeFault && strings.HasPrefix(f, tt.unable)
		})
		if got := texts(); !slices.Equal(got, want) || tt.named != nil && len(got) == len(before) {
			t.Errorf("%s, of %q: left %q", tt.unable, before, got)
		}
		if got := tg.unable(); !slices.Equal(got, tt.named) {
			t.Errorf("%s of %v: named %q, want %q", tt.unable, tt.kinds, got, tt.named)
		}
	}
}

func TestPairsMeanSomething(t *testing.T) {
	triggered := func(fault, client, do string) scenarios.TriggeredFault {
		s, err := scenarios.NewTriggeredFault(fault, scenarios.Trigger{At: scenarios.Before, Client: client, Do: do, Nth: 1}, scenarios.Until{Or: scenarios.Span{Leases: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	pause := triggered("pause: A", "A", "write")
	for _, tt := range []struct {
		other scenarios.TriggeredFault
		want  bool
	}{
		{triggered("pause: A", "A", "release"), false},
		{triggered("pause: B", "B", "write"), true},
		{triggered("cut: A from servers", "A", "write"), false},  // it does not run
		{triggered("cut: A from servers", "A", "release"), true}, // it runs again
		{triggered("clock: A +5s", "A", "write"), true},          // time goes on while it does not
		{triggered("kill: servers", "B", "acquire"), true},
	} {
		if got := meaningful(pause, tt.other); got != tt.want {
			t.Errorf("%s beside %s: %v", pause, tt.other, got)
		}
	}
}

// An trigger is tried once up to which the programs are the same, and again where the others
// begin otherwise.
func TestTriggersThatOpen(t *testing.T) {
	of := func(texts ...string) (w workload) {
		for _, text := range texts {
			w.programs = append(w.programs, scenarios.MustProgram(text, clientNames))
		}
		return w
	}
	first := of("acquire, read, work 0.2 leases, write, release", "await A granted, acquire, read, release")
	longer := of("acquire, read, work 1.3 leases, write, release", "await A granted, acquire, read, release")
	race := of("acquire, read, work 0.2 leases, write, release", "acquire, read, release")
	at := func(client, do string) scenarios.Trigger {
		return scenarios.Trigger{At: scenarios.Before, Client: client, Do: do, Nth: 1}
	}
	for _, tt := range []struct {
		w    workload
		at   scenarios.Trigger
		want bool
	}{
		{longer, at("A", "acquire"), false},
		{longer, at("A", "read"), false},
		{longer, at("A", "hold"), true},
		{longer, at("A", "write"), true},
		{longer, at("B", "release"), false},
		{longer, scenarios.Trigger{At: scenarios.Event, Await: scenarios.AwaitClient("B", "waiting")}, false},
		{race, at("A", "acquire"), true},
		{race, scenarios.Trigger{At: scenarios.Event, Await: scenarios.AwaitClient("B", "waiting")}, true},
		{longer, scenarios.Trigger{At: scenarios.Start}, true},
	} {
		if got := tt.w.reachesNewPoint([]workload{first}, tt.at); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.at, got, tt.want)
		}
	}
}

// In one schedule a client extends its lease again and again while no other asks for the lock, and no fault
// comes: it costs no more than that.
func TestAlone(t *testing.T) {
	on := target(1, 1)
	found := 0
	for p := range space(on, 1) {
		renewals, others := 0, false
		for _, c := range p.schedule.Clients {
			program := p.schedule.Programs[c]
			for _, m := range program {
				if c == "A" && m.Do == history.Renew {
					renewals++
				}
			}
			others = others || c != "A" && program[0].String() != "await A done or 9 leases"
		}
		if renewals < 3 || others {
			continue
		}
		if found++; p.depth > 0 {
			t.Errorf("with a fault: %s", p.id)
		}
	}
	if found != 1 {
		t.Errorf("A is alone with its renewals in %d schedules, want 1", found)
	}
	for _, w := range newMutator(on, mostFaults, 1).workloads {
		if w.strikes != nil {
			t.Errorf("%s is a base of random schedules", w.name)
		}
	}
}

// Where a server leads the others, faults aim at it and at one that does not, beside the servers by their
// names.
func TestRoles(t *testing.T) {
	for _, c := range []struct {
		servers     int
		roles       bool
		has, hasNot []string
	}{
		{3, true, []string{"pause: s1, s2", "pause: leader", "pause: follower", "kill: leader", "cut: leader from followers", "clock: follower +750ms", "failover: leader", "refuse: leader"}, []string{"cut: follower from s1, s2, s3", "pause: s1", "clock: s1 +750ms", "refuse: follower", "refuse: servers"}},
		{3, false, []string{"pause: s1", "refuse: s1", "refuse: s1, s2", "refuse: servers"}, []string{"pause: leader", "pause: follower", "cut: leader from followers"}},
		{2, true, []string{"pause: s1", "pause: s2", "pause: leader"}, []string{"pause: follower"}},
	} {
		on := target(c.servers, 1)
		on.Roles = c.roles
		have := map[string]bool{}
		for p := range space(on, 1) {
			for _, st := range p.schedule.TriggeredFaults {
				have[st.Fault.Text] = true
			}
		}
		for _, f := range c.has {
			if !have[f] {
				t.Errorf("%d servers, roles %v: no %s", c.servers, c.roles, f)
			}
		}
		for _, f := range c.hasNot {
			if have[f] {
				t.Errorf("%d servers, roles %v: %s", c.servers, c.roles, f)
			}
		}
	}
}

// TestLostDisks: a hunt takes the disk of a minority, never that of the only server, of one
// of two, or of a majority.
func TestLostDisks(t *testing.T) {
	for servers, want := range map[int][]string{1: nil, 2: nil, 3: {"s1"}, 5: {"s1"}} {
		on := target(servers, 1)
		var got []string
		for _, f := range faults(on, clientNames[:2]) {
			if name, ok := strings.CutSuffix(f.text, " without data"); ok {
				got = append(got, strings.TrimPrefix(name, "kill: "))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %d servers the disks of %v are lost, want %v", servers, got, want)
		}
	}
}

// Other leases are tried without a fault, by what tells how long a lease is kept, after as many
// schedules as there are faults: they take longer.
func TestOtherLeases(t *testing.T) {
	for _, permits := range []int{1, 2} {
		on := target(1, permits)
		on.Leases = []time.Duration{1500 * time.Millisecond}
		kinds := len(faults(on, clientNames[:2]))
		for depth := range 3 {
			var got []string
			with := 0
			for p := range space(on, depth) {
				if p.schedule.TTL == on.TTL || p.workload == forgets || p.workload == restarts { // its lease outlasts a restart
					with += len(p.schedule.TriggeredFaults)
					continue
				}
				got = append(got, p.workload)
				if len(p.schedule.TriggeredFaults) > 0 || p.depth != 0 {
					t.Errorf("%s has a fault", p.workload)
				}
				if depth > 0 && permits == 1 && with != kinds {
					t.Errorf("depth %d: %s after %d schedules with a fault, want %d", depth, p.workload, with, kinds)
				}
				if names := on.kindsOf(p.schedule); !slices.Equal(names, []string{"a lease of 1.5s"}) {
					t.Errorf("it takes %q", names)
				}
				if again, err := scenarios.Parse("schedule.yaml", p.schedule.Write()); err != nil || again.TTL != on.Leases[0] {
					t.Errorf("written and read: %v, %v", again, err)
				}
			}
			want := []string{"outlive at 1.5s", "renew at 1.5s"}
			if permits > 1 {
				want = []string{"late at 1.5s", "expired at 1.5s", "renew at 1.5s", "renews-beside at 1.5s"}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d permits, depth %d: %q, want %q", permits, depth, got, want)
			}
		}
	}
}

// A kind of fault of which the space has none is refused, and what there is named.
func TestKindsWithoutAFault(t *testing.T) {
	few := target(1, 1)
	few.Unable = map[string]string{"failover": "there are no replicas"}
	for _, tt := range []struct {
		kinds []string
		want  []string
	}{
		{nil, nil},
		{[]string{"none"}, nil},
		{[]string{"pause", "kill:server", "partition", "hold:client"}, nil},
		{[]string{"pause", "mirage"}, []string{"mirage: no schedule for model has such a fault", "clock, disk, flap, hold, kill, loss, partition, pause"}},
		{[]string{"hold:server", "mirage:client"}, []string{"hold:server: no schedule", "mirage:client: no schedule"}},
		{[]string{"failover"}, []string{"failover: there are no replicas"}},
	} {
		few.Kinds = tt.kinds
		err := few.CheckKinds()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%q: %v", tt.kinds, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%q: %v, want %q in it", tt.kinds, err, want)
			}
		}
	}
}
