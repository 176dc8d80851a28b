package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis"
)

// Nothing gets through a cut while one of its ends is started again: a node keeps its
// network, and what was done in it, while its program is down.
func TestRestartInsideACut(t *testing.T) {
	if !sandbox.Isolated {
		testkit.Need(t, "namespaces", errors.New(sandbox.Why))
	}
	chatter := testkit.Chatter(t, runtime.GOARCH)
	text := "services:\n"
	for _, name := range []string{"a", "b", "c"} {
		text += fmt.Sprintf("  %s: {image: none, x-picklock: {role: server, ports: [7000], ready: {send: \"count\\n\", expect: \"came:\"}, local: {command: [%q, a, b, c]}}}\n", name, chatter)
	}
	file := filepath.Join(t.TempDir(), "chatters.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, sandbox, file)
	ctx := t.Context()
	env := &nemesis.Env{Cluster: c, Injector: nemesis.NewLocalInjector(), Isolated: true, TTL: time.Second}
	n, err := nemesis.New(ctx, env, nil, 1, history.Now(), func(history.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	came := func(at, kind, from string) int {
		t.Helper()
		node, _ := c.Find(at)
		other, _ := c.Find(from)
		text, ok, err := (&compose.Probe{Send: "count\n", Expect: "came: (.*);"}).Answer(ctx, node.HostPort())
		if err != nil || !ok {
			t.Fatalf("ask %s what came: %q, %v", at, text, err)
		}
		for what := range strings.SplitSeq(text, ", ") {
			if rest, ok := strings.CutPrefix(what, kind+" "+other.Addr+" "); ok {
				n, err := strconv.Atoi(rest)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
		return 0
	}
	comes := func(at, kind, from string) {
		t.Helper()
		before := came(at, kind, from)
		for until := time.Now().Add(30 * time.Second); came(at, kind, from) == before; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("no %s comes from %s to %s any more", kind, from, at)
			}
		}
	}
	for _, tt := range []struct {
		kind    string
		both    bool
		through []string // what must not come
	}{
		{"partition", false, []string{"udp", "tcp"}},
		{"partition", true, []string{"udp", "tcp"}},
		{"hold", false, []string{"tcp"}},
	} {
		heal, err := n.Inject(ctx, nemesis.FaultRequest{Kind: tt.kind, Nodes: []string{"b"}, Peers: []string{"a"}, Both: tt.both})
		if err != nil {
			t.Fatal(err)
		}
		// First both, which count anew then.
		for _, again := range [][]string{{"a", "b"}, {"a"}, {"b"}} {
			for _, name := range again {
				if err := c.Kill(ctx, name); err != nil {
					t.Fatal(err)
				}
			}
			var g errgroup.Group
			for _, name := range again {
				g.Go(func() error { return c.Restart(ctx, name, false) })
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			for _, name := range again {
				comes(name, "udp", "c")
				comes("c", "udp", name)
			}
			for _, kind := range tt.through {
				if n := came("a", kind, "b"); n != 0 {
					t.Errorf("%s, both directions %v, %v again: %d times %s came from b to a", tt.kind, tt.both, again, n, kind)
				}
				if n := came("b", kind, "a"); tt.both && n != 0 {
					t.Errorf("%s, both directions, %v again: %d times %s came from a to b", tt.kind, again, n, kind)
				}
			}
		}
		if err := heal(ctx); err != nil {
			t.Fatal(err)
		}
		comes("a", "tcp", "b")
		comes("b", "tcp", "a")
	}
}
