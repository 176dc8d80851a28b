package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/scenarios"
)

// replicated is a cluster with replicas and picklock's own disks.
type replicated struct{ *fakeCluster }

func (replicated) Disks() compose.Disks  { return struct{ compose.Disks }{} }
func (replicated) CanRefuse(string) bool { return true }

func (replicated) Leads(_ context.Context, node string) (bool, error) {
	return node == "s2", nil
}

// harm lists what a fault does, node by node and link by link.
func harm(t *testing.T, f Fault) (out []string) {
	t.Helper()
	each := func(nodes []string, format string, args ...any) {
		for _, n := range nodes {
			out = append(out, n+": "+fmt.Sprintf(format, args...))
		}
	}
	var links []directedLink
	if l, ok := f.(linker); ok {
		links = l.on()
	}
	on := func(format string, args ...any) {
		for _, x := range links {
			out = append(out, x.from+" to "+x.to+": "+fmt.Sprintf(format, args...))
		}
	}
	switch f := f.(type) {
	case *pause:
		each(f.Nodes(), "pause")
	case *kill:
		each(f.Nodes(), "kill, wipe %v", f.wipe)
	case *powerLoss:
		each(f.Nodes(), "power loss, torn %v", f.torn)
	case *refuse:
		each(f.Nodes(), "refuse")
	case *failover:
		each(f.Nodes(), "failover")
	case *clockFault:
		each(f.Nodes(), "clock %+v", f.to)
	case *diskFault:
		each(f.Nodes(), "disk %v %v", f.fault, f.stall)
	case *partition:
		on("cut")
	case *hold:
		on("hold")
	case *withhold:
		on("withhold")
	case *reset:
		on("reset %q", f.manner)
	case *shaping:
		on("shape %+v", f.shape)
	default:
		t.Fatalf("%T is not in this test", f)
	}
	slices.Sort(out)
	return out
}

// Every kind's steps are read by scenarios, and what they ask for does the same to the same
// nodes and links.
func TestSteps(t *testing.T) {
	more := map[string][]string{
		"slow":      {"client:500ms±250ms:100kB/s:servers", "holder:register:20ms:in", "one:0.5kB/s"},
		"loss":      {"client:20%:servers:out", "one:0.1%", "one:33.3%"},
		"partition": {"bridge:in", "bridge:servers", "ring:servers", "s1:out", "c1:out", "halves:servers", "all:clients"},
		"flap":      {"client:200ms:in", "s2"},
		"kill":      {"one:wipe", "majority:wipe", "s1"},
		"pause":     {"all", "s1"},
		"powerloss": {"all:torn"},
		"clock":     {"client:-5s", "all:+3s", "majority:x1.1", "one:strobe:50ms", "c1:x0.5"},
		"reset":     {"client:silently", "client:half-open", "holder:register", "one", "halves:silently"},
		"hold":      {"halves", "client:in", "client:out"},
		"withhold":  {"halves", "client:in", "client:out"},
		"disk":      {"one:stall", "majority:stall:200ms", "one:full", "all:eio"},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range Kinds() {
		for _, words := range slices.Concat([]string{""}, k.All, k.Plain, more[k.Name]) {
			for _, servers := range []int{3, 5} {
				text := strings.TrimSuffix(k.Name+":"+words, ":")
				t.Run(fmt.Sprintf("%s of %d", text, servers), func(t *testing.T) { checkSteps(t, text, servers, rng) })
			}
		}
	}
}

func checkSteps(t *testing.T, text string, servers int, rng *rand.Rand) {
	nodes := []string{"s1", "s2", "s3", "s4", "s5"}[:servers]
	env := &Env{Cluster: replicated{newFake(append(nodes, "c1", "c2", "c3", "register")...)}, Injector: newFakeInjector(), Isolated: true, TTL: time.Second, watch: newWatch(false)}
	env.net, env.watch.asks["c2"] = newNetwork(env), true
	spec, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if spec.OneOf != nil {
		spec = spec.OneOf[rng.IntN(len(spec.OneOf))]
	}
	f, err := spec.Plan.Pick(t.Context(), env, rng, "c1")
	if err != nil || f == nil {
		t.Fatalf("%v, %v", f, err)
	}
	want, steps, got := harm(t, f), f.Steps(), []string(nil)
	for _, step := range steps {
		read, err := scenarios.NewTriggeredFault(step, scenarios.Trigger{At: scenarios.Start}, scenarios.Until{})
		if err != nil {
			t.Fatalf("%q: %v", step, err)
		}
		st := read.Fault
		again, err := Plan{FaultRequest: FaultRequest{
			Kind: spec.Kind.Name, Nodes: st.Nodes, Peers: st.Peers, Both: st.Both, By: st.By, Rate: st.Rate, Strobe: st.Strobe, Wipe: st.Wipe,
			Manner: st.Manner, Disk: st.Disk, Stall: st.Stall, Torn: st.Torn, Slow: st.Slow, Loss: st.Loss, Flap: st.Flap,
		}}.Pick(t.Context(), env, rng, "")
		if err != nil {
			t.Fatalf("%q: %v", step, err)
		}
		if word, _, _ := strings.Cut(step, ":"); word != spec.Kind.Name && (word != "cut" || spec.Kind.Name != "partition") {
			t.Errorf("%q is no step of %s", step, spec.Kind.Name)
		}
		got = append(got, harm(t, again)...)
	}
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%q does\n%s\nwant\n%s", steps, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
