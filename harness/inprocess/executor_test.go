package inprocess

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/redis"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// order is a cell: what its clients do on redis, with which faults.
func order(t *testing.T, rest string) harness.CellOrder {
	t.Helper()
	text := "name: mine\nabout: x\nlocks: [redis]\nfencing: [none]\nttl: 400ms\nexpect: {redis: valid}\n" + rest
	s, err := scenarios.Parse("mine.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return harness.NewCellOrder(scenarios.Cell{Scenario: s, Lock: "redis", Fencing: "none"}, t.TempDir())
}

const (
	critical = "clients:\n  A: acquire, read, write, await B waiting, release\n  B: await A granted, acquire, read, write, release\n"
	paused   = overlapping + "faults:\n- when: before A's write\n  pause: A\n  until: after B's write or 4 leases\n"
	crashed  = critical + "faults:\n- when: after B's release\n  kill: redis\n  until: 0.1 leases\n"
)

// TestExecutor: cells follow one another on the same servers until a fault strikes those. Each has its
// own verdict, and a run directory with all that a run has.
func TestExecutor(t *testing.T) {
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
	host := harness.Host{
		Locks: clients.NewTable(nil, redis.Locks()...), Backends: options().Backends, Self: program,
		Runtime: harness.Local{Sandbox: &local.Sandbox{Why: "a test"}},
	}
	x := harness.NewExecutor(t.TempDir())
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		name, text string
		met        checker.Validity
		broken     []string
		starts     int
		said       int // how often the log of the cell's redis says that it is ready
	}{
		{"no fault", critical, checker.True, nil, 1, 1},
		{"a client is stopped", paused, checker.False, []string{"lost-update", "stale-write"}, 1, 0},
		{"no fault again", critical, checker.True, nil, 1, 0},
		{"the server dies", crashed, checker.Unknown, nil, 1, 1},
		{"no fault after that", critical, checker.True, nil, 2, 1},
	} {
		o, err := order(t, c.text).Options(host)
		if err != nil {
			t.Fatal(err)
		}
		out, err := x.Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !slices.Equal(out.Result.Broken, c.broken) || out.Result.Met != c.met {
			t.Errorf("%s: %v broke, as expected: %v (%s), want %v, %v", c.name, out.Result.Broken, out.Result.Met, out.Result.Why, c.broken, c.met)
		}
		if n := x.Starts(); n != c.starts {
			t.Errorf("%s: servers were started %d times so far, want %d", c.name, n, c.starts)
		}
		for _, file := range []string{results.RunFile, results.HistoryFile, results.RegisterFile, results.VerdictFile, results.ReportFile, results.CellFile, results.ScenarioFile} {
			if _, err := os.Stat(out.Dir.File(file)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		log, _ := os.ReadFile(filepath.Join(out.Dir.File(results.NodesFolder), "redis.log")) // there is none where it said nothing
		if n := strings.Count(string(log), "Ready to accept connections"); n != c.said {
			t.Errorf("%s: redis says that it is ready %d times, want %d:\n%s", c.name, n, c.said, log)
		}
	}
}

// TestExecutorBreaksDown: a process that ends amid a cell costs that one its result, and says where
// its last words are. The next cell gets another process.
func TestExecutorBreaksDown(t *testing.T) {
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
	dir := t.TempDir()
	self := filepath.Join(dir, "picklock.sh")
	script := "#!/bin/sh\nif mkdir " + dir + "/first 2>/dev/null; then read line; echo 'panic: a bug' >&2; exit 2; fi\nexec " + program + " \"$@\"\n"
	if err := os.WriteFile(self, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	x := harness.NewRemoteExecutor(harness.RemoteOptions{Self: self, Runtime: "local", Dir: filepath.Join(dir, "testbeds")})
	_, err := x.Run(t.Context(), order(t, critical))
	if err == nil || !strings.Contains(err.Error(), "testbed.log") {
		t.Errorf("a cell whose process ended: %v, want where its log is", err)
	}
	c, err := x.Run(t.Context(), order(t, critical))
	if err != nil || c.Met != checker.True {
		t.Errorf("the cell after it: %v, %v (%s)", err, c.Met, c.Why)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	said, err := os.ReadFile(filepath.Join(dir, "testbeds", "1", "testbed.log"))
	if err != nil || !strings.Contains(string(said), "panic: a bug") {
		t.Errorf("its last words are %q (%v)", said, err)
	}
}
