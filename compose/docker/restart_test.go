package docker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis"
)

// chatters are three containers that send one another datagrams, and greetings over TCP,
// from their first moment on, and count what comes.
type chatters struct {
	*testing.T
	c     *Cluster
	agent *nemesis.Remote
	n     *nemesis.Nemesis
}

func newChatters(t *testing.T) *chatters {
	t.Helper()
	e := needEngine(t)
	text := "services:\n"
	for _, name := range []string{"a", "b", "c"} {
		text += fmt.Sprintf("  %s: {image: %q, command: [a, b, c], x-picklock: {role: server, ports: [7000], ready: {send: \"count\\n\", expect: \"came:\"}}}\n", name, chatterImage(t, e))
	}
	k := &chatters{T: t}
	k.c, k.agent = start(t, e, load(t, text))
	env := &nemesis.Env{Cluster: k.c, Injector: k.agent, Isolated: true, TTL: time.Second, Now: k.agent.Now}
	var err error
	if k.n, err = nemesis.New(t.Context(), env, nil, 1, k.agent.Now(), func(history.Event) {}); err != nil {
		t.Fatal(err)
	}
	return k
}

func chatterImage(t *testing.T, e *Engine) string {
	t.Helper()
	const image = "picklock-test/chatter:1"
	if id, err := e.engine.image(t.Context(), image); err != nil {
		t.Fatal(err)
	} else if id != "" {
		return image
	}
	f, err := os.Open(testkit.Chatter(t, e.about.Arch))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var files bytes.Buffer
	if err := writeContext(&files, f, "scratch"); err != nil {
		t.Fatal(err)
	}
	if err := e.engine.build(t.Context(), &files, image, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.engine.removeImage(context.Background(), image); err != nil {
			t.Error(err)
		}
	})
	return image
}

// came asks a chatter for what came of a kind, "udp" or "tcp", from another since it started.
func (k *chatters) came(at, kind, from string) (n int) {
	k.Helper()
	node, other := nodeOf(k.T, k.c, at), nodeOf(k.T, k.c, from)
	ctx, cancel := context.WithTimeout(k.Context(), 20*time.Second)
	defer cancel()
	text, ok, err := k.agent.Ask(ctx, node.NetNS, node.HostPort(), &compose.Probe{Send: "count\n", Expect: "came: (.*);"})
	if err != nil || !ok {
		k.Fatalf("ask %s what came: %q, %v", at, text, err)
	}
	for what := range strings.SplitSeq(text, ", ") {
		if rest, ok := strings.CutPrefix(what, kind+" "+other.Addr+" "); ok {
			return atoi(k.T, rest)
		}
	}
	return 0
}

// comes waits until more of a kind has come from another.
func (k *chatters) comes(at, kind, from string) {
	k.Helper()
	before := k.came(at, kind, from)
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if k.came(at, kind, from) > before {
			return
		}
	}
	k.Fatalf("no %s comes from %s to %s any more", kind, from, at)
}

func (k *chatters) inject(r nemesis.FaultRequest) (heal func()) {
	k.Helper()
	undo, err := k.n.Inject(k.Context(), r)
	if err != nil {
		k.Fatal(err)
	}
	return func() {
		k.Helper()
		if err := undo(k.Context()); err != nil {
			k.Error(err)
		}
	}
}

// again kills nodes and starts all of them at once.
func (k *chatters) again(fresh bool, nodes ...string) {
	k.Helper()
	for _, n := range nodes {
		if err := k.c.Kill(k.Context(), n); err != nil {
			k.Fatal(err)
		}
	}
	g, ctx := errgroup.WithContext(k.Context())
	for _, n := range nodes {
		g.Go(func() error { return k.c.Restart(ctx, n, fresh) })
	}
	if err := g.Wait(); err != nil {
		k.Fatal(err)
	}
}

// Nothing gets through a cut while one of its ends is started again, be it one packet, and
// what is not cut flows. A container that was killed has a new network, in which the cut has
// to be made anew; its program runs by then.
func TestRestartInsideACut(t *testing.T) {
	k := newChatters(t)
	for _, way := range [][2]string{{"b", "a"}, {"a", "b"}} {
		for _, both := range []bool{false, true} {
			from, to := way[0], way[1]
			heal := k.inject(nemesis.FaultRequest{Kind: "partition", Nodes: []string{from}, Peers: []string{to}, Both: both})
			// First both, which count anew then: what came just before the cut may be counted
			// just after it.
			for _, again := range [][]string{{"a", "b"}, {"a"}, {"b"}} {
				t.Run(fmt.Sprintf("%s to %s, both directions %v, %v again", from, to, both, again), func(t *testing.T) {
					k := &chatters{t, k.c, k.agent, k.n}
					k.again(false, again...)
					for _, n := range again {
						k.comes(n, "udp", "c")
						k.comes("c", "udp", n)
					}
					watched := [][2]string{{from, to}}
					if both {
						watched = append(watched, [2]string{to, from})
					}
					for _, w := range watched {
						for _, kind := range []string{"udp", "tcp"} {
							if n := k.came(w[1], kind, w[0]); n != 0 {
								t.Errorf("%d times %s came from %s to %s through the cut", n, kind, w[0], w[1])
							}
						}
					}
				})
			}
			heal()
			for _, w := range [][2]string{{from, to}, {to, from}} {
				k.comes(w[1], "udp", w[0])
				k.comes(w[1], "tcp", w[0])
			}
		}
	}
}

// What a container sends is held from its first message on, too.
func TestRestartWhileHeld(t *testing.T) {
	k := newChatters(t)
	heal := k.inject(nemesis.FaultRequest{Kind: "hold", Nodes: []string{"a"}, Peers: []string{"b"}})
	for _, again := range [][]string{{"b"}, {"a"}, {"a", "b"}} { // first b, which counts anew then
		for _, fresh := range []bool{false, true} {
			k.again(fresh, again...)
			k.comes("a", "tcp", "c")
			k.comes("c", "tcp", "a")
			if n := k.came("b", "tcp", "a"); n != 0 {
				t.Errorf("%v again, fresh %v: %d greetings came from a to b, where they are held", again, fresh, n)
			}
		}
	}
	// The queue of a's network is open, and none of the earlier ones.
	if n := k.namespaces(); n != 1 {
		t.Errorf("the agent keeps %d network namespaces open, want 1", n)
	}
	heal()
	k.comes("b", "tcp", "a")
	if n := k.namespaces(); n != 0 {
		t.Errorf("healed, and the agent keeps %d network namespaces open", n)
	}
}

// namespaces counts the network namespaces that the agent keeps open.
func (k *chatters) namespaces() int {
	k.Helper()
	i, err := k.c.engine.inspect(k.Context(), k.c.agentID)
	if err != nil {
		k.Fatal(err)
	}
	dir := fmt.Sprintf("/proc/%d/fd", i.PID)
	all, err := os.ReadDir(dir)
	if err != nil {
		k.Fatalf("look at the agent, which this test needs on this machine: %v", err)
	}
	found := map[string]bool{}
	for _, f := range all {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && strings.HasPrefix(to, "net:[") {
			found[to] = true
		}
	}
	return len(found)
}
