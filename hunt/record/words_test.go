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
	"github.com/picklock/picklock/scenarios"
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

// What the nemesis writes of any fault that it can draw becomes a fault of a schedule.
func TestWords(t *testing.T) {
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
				e := history.Event{F: k.Name, Nodes: f.Nodes(), Detail: f.Detail()}
				steps, err := run.words(e, names)
				if err != nil || len(steps) == 0 {
					t.Fatalf("%q of %v: %q, %v", e.Detail, e.Nodes, steps, err)
				}
				for _, step := range steps {
					if _, err := scenarios.NewTriggeredFault(step, scenarios.Trigger{At: scenarios.Start}, scenarios.Until{}); err != nil {
						t.Errorf("%q of %v becomes %q: %v", e.Detail, e.Nodes, step, err)
					}
				}
				t.Logf("%q of %v becomes %q", e.Detail, e.Nodes, steps)
			})
		}
	}
}

// What is read of a fault is what the nemesis is asked for, where a scenario asks for it.
func TestWordsAgain(t *testing.T) {
	run := Run{Servers: []string{"s1", "s2"}, TTL: 2 * time.Second, Lease: time.Second}
	for _, x := range []struct {
		kind, nodes, detail string
		want                string
	}{
		{"pause", "c1 c9", "stopped", "pause: A"},
		{"pause", "c9", "stopped", ""},
		{"kill", "s1 s2", "killed, data wiped", "kill: s1, s2 without data"},
		{"powerloss", "s1", "killed, and 12 bytes and 1 changes of names that were not synced taken away but for 3 bytes of a torn write", "powerloss: s1 torn"},
		{"clock", "s1 c2", "wall clock -4s", "clock: s1 -2s|clock: B -2s"},
		{"clock", "s1", "wall clock x2, measured x2.0004", "clock: s1 x2"},
		{"clock", "s1", "wall clock strobe +80ms", "clock: s1 strobe 40ms"},
		{"partition", "c1", "c1 cut off from servers", "cut: A from s1, s2"},
		{"partition", "c9", "c9 cut off from servers", ""},
		{"partition", "s1 c2", "s1, c2 cut off from servers and clients", "cut: s1, B from s2, A"},
		{"partition", "c1", "c1 hears nothing from server", "cut: s1, s2 to A"},
		{"partition", "c1 register", "c1 is not heard by register", "cut: A to register"},
		{"partition", "s1 s2", "s1 cut off from c1, c9; s2 hears both", "cut: s1 from A"},
		{"flap", "c2", "c2 and servers cut and healed every 630ms, 15 of 111 packets lost", "flap: B from s1, s2 315ms"},
		{"flap", "c1", "c1 to servers cut and healed every 200ms", "flap: A to s1, s2 100ms"},
		{"hold", "c1 register", "messages from c1 to register held", "hold: A to register"},
		{"hold", "s1 s2", "messages between s1 and s2, c9 held", "hold: s1 from s2"},
		{"reset", "c1", "3 connections between c1 and s1, s2 forgotten by c1 only", "reset: A to s1, s2 half-open"},
		{"slow", "c1", "c1 and servers slowed by 500ms±250ms and to 100 kB/s, measured 761.9ms to 2.3283s there and back", "slow: A from s1, s2 250ms±125ms 100kB/s"},
		{"slow", "c1", "servers to c1 slowed by 500ms", "slow: s1, s2 to A 250ms"},
		{"loss", "c1", "c1 and servers lose 20 % of their packets, 3 of 19 packets lost", "loss: A from s1, s2 20%"},
		{"disk", "s1", "every sync takes 200ms", "disk: s1 stall 100ms"},
		{"stall", "", "all were late", "no fault of a schedule"},
		{"pause", "c1", "slept", `no fault of a schedule is "slept"`},
	} {
		steps, err := run.words(history.Event{F: x.kind, Nodes: strings.Fields(x.nodes), Detail: x.detail}, map[string]string{"c1": "A", "c2": "B"})
		got := strings.Join(steps, "|")
		if err != nil {
			got = err.Error()
		}
		if got != x.want && (err == nil || !strings.Contains(got, x.want)) {
			t.Errorf("%s %q: got %q, want %q", x.kind, x.detail, got, x.want)
		}
	}
}
