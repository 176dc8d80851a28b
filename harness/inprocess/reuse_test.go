package inprocess

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/testkit"
)

// spying is the local runtime, and keeps the cluster that it started last.
type spying struct {
	harness.Local
	cluster compose.Cluster
}

func (s *spying) Start(ctx context.Context, def *compose.Definition, o compose.Options) (compose.Cluster, error) {
	c, err := s.Local.Start(ctx, def, o)
	s.cluster = c
	return c, err
}

// TestReuse: several runs of one process share their servers, each with keys of its own,
// as long as the servers are what they were and work.
func TestReuse(t *testing.T) {
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
	dir := t.TempDir()
	runtime := &spying{Local: harness.Local{Sandbox: &local.Sandbox{Why: "a test"}}}
	reuse := harness.NewReuse(filepath.Join(dir, "servers"))
	defer func() {
		if err := reuse.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := options()
	o.Runtime, o.Reuse = runtime, reuse
	o.Clients, o.Limit, o.TTL = 3, 2*time.Second, 200*time.Millisecond
	keys := map[string]bool{}
	run := func(name string, starts int) {
		t.Helper()
		o.Out = filepath.Join(dir, name)
		out, err := harness.Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out.Verdict.Valid != checker.True || out.Verdict.Stats.Grants == 0 {
			t.Errorf("%s: %v (%s), %d grants", name, out.Verdict.Valid, out.Verdict.Why, out.Verdict.Stats.Grants)
		}
		if n := reuse.Starts(); n != starts {
			t.Errorf("%s: %d clusters were started so far, want %d", name, n, starts)
		}
		events, err := history.ReadFile(out.Dir.History())
		if err != nil {
			t.Fatal(err)
		}
		mine := map[string]bool{}
		for _, e := range events {
			if e.Key != "" {
				mine[e.Key] = true
			}
		}
		for k := range mine {
			if keys[k] {
				t.Errorf("%s: key %s was an earlier run's", name, k)
			}
			keys[k] = true
		}
		if n := len(out.Run.Nodes); n != o.Clients+2 {
			t.Errorf("%s: %d nodes, want %d clients, a server and the register", name, n, o.Clients)
		}
	}
	run("first", 1)
	o.Clients = 2
	run("fewer clients", 1)
	o.Faults = []string{"pause:holder"}
	run("paused, which might hit a client that is not there any more", 2)
	run("paused again", 2)
	o.Faults = []string{"pause:server"}
	run("the server paused", 2)
	o.Faults = nil
	run("after it", 3)
	o.TTL = 300 * time.Millisecond
	run("another lease, which redis does not know", 3)
	if err := runtime.cluster.Kill(t.Context(), "redis"); err != nil {
		t.Fatal(err)
	}
	run("a server is down", 4)
}
