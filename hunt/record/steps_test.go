package record

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis"
)

// nodes is a cluster to which nothing is done.
type nodes struct {
	compose.Cluster
	all []compose.Node
}

func (n nodes) Nodes() []compose.Node                                                      { return n.all }
func (nodes) Leader(context.Context) (string, error)                                       { return "s1", nil }
func (nodes) Leads(_ context.Context, node string) (bool, error)                           { return node == "s1", nil }
func (nodes) NeedsData(string) string                                                      { return "" }
func (nodes) CanRefuse(string) bool                                                        { return true }
func (nodes) Disks() compose.Disks                                                         { return idleDisks{} }
func (nodes) AroundStart(func(ctx context.Context, node string, start func() error) error) {}

type idleDisks struct{ compose.Disks }

// idle is an injector of which nothing is asked.
type idle struct{}

func (idle) Do(_ context.Context, op nemesis.Op) (r nemesis.Result, err error) {
	if op.Name != nemesis.OpTryClock {
		err = errors.New("not in this test")
	}
	return r, err
}

// What the nemesis writes of any fault that it can draw becomes faults of a schedule.
func TestEveryFault(t *testing.T) {
	var cluster nodes
	for i, name := range []string{"s1", "s2", "s3", "s4", "s5", "c1", "c2", "c3", "register"} {
		role := map[byte]compose.Role{'s': compose.Server, 'c': compose.Client, 'r': compose.Register}[name[0]]
		cluster.all = append(cluster.all, compose.Node{Name: name, Role: role, PID: 100 + i})
	}
	env := &nemesis.Env{Cluster: cluster, Injector: idle{}, Isolated: true, TTL: time.Second}
	if _, err := nemesis.New(t.Context(), env, nil, 1, 0, func(history.Event) {}); err != nil {
		t.Fatal(err)
	}
	run := Run{Servers: []string{"s1", "s2", "s3", "s4", "s5"}, TTL: time.Second, Lease: time.Second}
	names := map[string]string{"c1": "A", "c2": "B", "c3": "C"}
	more := map[string][]string{
		"slow":      {"client:500ms±250ms:100kB/s:servers", "holder:register:20ms:in"},
		"loss":      {"client:20%:servers:out", "one:5%"},
		"partition": {"bridge:in", "ring:servers", "c1:out", "halves:servers"},
		"flap":      {"client:200ms:in"},
		"kill":      {"one:wipe"},
		"powerloss": {"all:torn"},
		"clock":     {"client:-5s", "all:+3s", "majority:x1.1", "one:strobe:50ms"},
		"reset":     {"client:silently", "holder:register"},
		"hold":      {"halves", "client:in"},
		"disk":      {"one:stall", "one:stall:200ms", "one:full", "one:eio"},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range nemesis.Kinds() {
		for _, words := range slices.Concat(k.All, k.Plain, more[k.Name]) {
			text := strings.TrimSuffix(k.Name+":"+words, ":")
			t.Run(text, func(t *testing.T) {
				spec, err := nemesis.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if spec.OneOf != nil {
					spec = spec.OneOf[0]
				}
				f, err := spec.Plan.Pick(t.Context(), env, rng, "c1")
				if err != nil {
					t.Fatal(err)
				}
				if f == nil && strings.Contains(text, "waiter") {
					return // nobody waits here
				}
				e := history.Event{F: k.Name, Nodes: f.Nodes(), Fault: strings.Join(f.Steps(), "; ")}
				steps, err := run.steps(e, names)
				if err != nil || len(steps) == 0 {
					t.Fatalf("%q: %q, %v", e.Fault, steps, err)
				}
				t.Logf("%q becomes %q", e.Fault, steps)
			})
		}
	}
}

// A schedule has the nodes of a fault that take part, by its own names, and its own leases.
func TestSteps(t *testing.T) {
	run := Run{Servers: []string{"s1", "s2"}, TTL: 2 * time.Second, Lease: time.Second}
	for _, x := range []struct{ fault, want string }{
		{"pause: c1, c9", "pause: A"},
		{"pause: c9", ""},
		{"kill: s1, s2 without data", "kill: s1, s2 without data"},
		{"powerloss: s1 torn", "powerloss: s1 torn"},
		{"clock: s1 -4s; clock: c2 +4s; clock: c9 +4s", "clock: s1 -2s|clock: B +2s"},
		{"clock: s1 x2", "clock: s1 x2"},
		{"clock: s1 strobe +80ms", "clock: s1 strobe +40ms"},
		{"cut: c1 from s1, s2", "cut: A from s1, s2"},
		{"cut: c9 from s1, s2", ""},
		{"cut: s1 from c9", ""},
		{"cut: s1 from s2, c1, c9; cut: c2 from s2", "cut: s1 from s2, A|cut: B from s2"},
		{"cut: s1, s2 to c1", "cut: s1, s2 to A"},
		{"cut: c1 to register", "cut: A to register"},
		{"flap: c2 from s1, s2 630ms", "flap: B from s1, s2 315ms"},
		{"hold: c1 to register", "hold: A to register"},
		{"reset: c1 to s1, s2 half-open", "reset: A to s1, s2 half-open"},
		{"slow: c1 from s1, s2 500ms±250ms 100kB/s", "slow: A from s1, s2 250ms±125ms 100kB/s"},
		{"slow: s1, s2 to c1 500ms", "slow: s1, s2 to A 250ms"},
		{"loss: c1 from s1 20%", "loss: A from s1 20%"},
		{"disk: s1 stall 200ms", "disk: s1 stall 100ms"},
		{"", "no step of a scenario repeats it"},
		{"sleep: c1", `"sleep: c1": unknown fault "sleep"`},
		{"pause", ""},
	} {
		steps, err := run.steps(history.Event{Fault: x.fault}, map[string]string{"c1": "A", "c2": "B"})
		got := strings.Join(steps, "|")
		if err != nil {
			got = err.Error()
		}
		if got != x.want && (err == nil || !strings.Contains(got, x.want)) {
			t.Errorf("%q: got %q, want %q", x.fault, got, x.want)
		}
	}
}
