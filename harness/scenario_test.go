package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
)

// scenario runs the program and returns what it printed and its exit code.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	defer turn(t.Context(), args)()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var out, serr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &serr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), serr.String(), cmd.ProcessState.ExitCode()
}

func runScenario(t *testing.T, name, lock, fencing string) (results.Cell, int, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	stdout, stderr, code := command(t, "scenario", "run", name, "--lock", lock, "--fencing", fencing, "--json", "--out", dir)
	var c results.Cell
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatalf("%s on %s: exit %d: %v\n%s", name, lock, code, err, stderr)
	}
	return c, code, dir
}

// runs is how often what must come every time is run; PICKLOCK_PLAYS=N runs it N times.
func runs() int {
	if n, err := strconv.Atoi(os.Getenv("PICKLOCK_PLAYS")); err == nil {
		return n
	}
	return 3
}

// A scenario gives the same result every time.
func TestScenariosAreDeterministic(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	for _, x := range []struct{ name, lock, fencing string }{
		{"pause-holder", "redis", "none"},
		{"pause-holder", "redis-lua", "read-write"},
		{"redlock-clock-jump", "redlock", "none"},
		{"redlock-clock-drift", "redlock", "none"},
		{"server-clock-drift", "redis-lua", "read-write"},
		{"redlock-crash-restart", "redlock", "none"},
		{"del-without-owner", "redis-del", "none"},
		{"writes-only-tokens", "redis-lua", "write"},
		{"incr-then-set", "redis-incr", "write"},
		{"failover-lost-lock", "redis-replica", "none"},
		{"aof-everysec-powerloss", "redis", "none"},
	} {
		t.Run(x.name+" "+x.lock+" "+x.fencing, func(t *testing.T) {
			t.Parallel()
			var first results.Cell
			for i := range runs() {
				c, code, _ := runScenario(t, x.name, x.lock, x.fencing)
				if code != 0 || c.Met != checker.True {
					t.Fatalf("time %d: exit %d, %s: %s", i+1, code, c.Expected, c.Why)
				}
				if i == 0 {
					first = c
					continue
				}
				if !maps.Equal(first.Found, c.Found) || !slices.Equal(carriedOut(first), carriedOut(c)) {
					t.Errorf("time %d: %v\nfirst: %v\n%+v\n%+v", i+1, c.Found, first.Found, c.Steps, first.Steps)
				}
			}
		})
	}
}

// carriedOut are the moves and faults of a run, and what came of them. Those of two clients at one
// time have no order.
func carriedOut(c results.Cell) (out []string) {
	for _, s := range c.Steps {
		out = append(out, s.Text+" "+s.Outcome)
	}
	slices.Sort(out)
	return out
}

// From the command to the verdict it takes the lease and little more. The bound is
// five times what is promised, for a busy machine.
func TestPauseHolderIsQuick(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	began := time.Now()
	_, code, _ := runScenario(t, "pause-holder", "redis", "none")
	took := time.Since(began)
	t.Logf("from command to verdict %v", took)
	if code != 0 || took > 5*2*time.Second {
		t.Errorf("exit %d after %v", code, took)
	}
}

// A scenario's run is a run like any other: it can be judged again.
func TestScenarioLeavesARunDirectory(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	_, _, dir := runScenario(t, "pause-holder", "redis", "none")
	for _, f := range []string{results.RunFile, results.HistoryFile, results.RegisterFile, results.VerdictFile, results.ReportFile, results.JUnitFile, results.CellFile, results.ScenarioFile, "nodes/A.log"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
	if _, stderr, code := command(t, "check", dir, "--json"); code != 1 {
		t.Errorf("check: exit %d, want 1\n%s", code, stderr)
	}
}

func TestScenarioExpectations(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	write := func(text string) string {
		f := filepath.Join(t.TempDir(), "mine.yaml")
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	const head = "name: mine\nabout: mine\nlocks: [redis]\nttl: 500ms\nclients:\n"
	const harm = "  A: acquire, read, check, write\n  B: await pause on, acquire, read, write\nfaults:\n  - {when: before A's write, pause: A, until: after B's write}\n"
	const calm = "  A: acquire, read, write, await B waiting, release\n  B: await after A's write, acquire, read, write, release\n"
	tests := []struct {
		name, text string
		code       int
		says       string
	}{
		{"as expected", head + harm + "expect: {redis: [stale-write, lost-update]}\n", 0, "as expected"},
		{"valid as expected", head + calm + "expect: {redis: valid}\n", 0, "as expected"},
		{"broken, not expected", head + harm + "expect: {redis: valid}\n", 1, "not expected: stale-write"},
		{"broken otherwise", head + harm + "expect: {redis: [stale-write]}\n", 1, "not expected: lost-update"},
		{"expected, not broken", head + calm + "expect: {redis: [stale-write]}\n", 1, "expected, but not seen: stale-write"},
		{"nothing contested", head + "  A: acquire, read, write, release\nexpect: {redis: valid}\n", 2, "no grant was contested"},
		{"a move that is passed over", head + "  A: acquire, read, await lease of A over, check, write\n  B: await after A's write, acquire\nexpect: {redis: valid}\n", 2, "B: await after A's write: after A's write did not come: A passed over its write"},
		{"a mistake", head + "  A: acqiure\nexpect: {redis: valid}\n", 254, `mine.yaml:6: unknown move "acqiure": did you mean acquire?`},
		{"a failover without a replica", head + "  A: acquire\nfaults:\n  - {when: after A's acquire, failover: redis}\nexpect: {redis: valid}\n", 2, "no x-picklock.promote"},
		{"a node that is not there", head + "  A: acquire\nfaults:\n  - {when: after A's acquire, pause: redis7}\nexpect: {redis: valid}\n", 2, `no node "redis7"`},
	}
	for _, tt := range tests {
		file := write(tt.text)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := command(t, "scenario", "run", file, "--out", filepath.Join(t.TempDir(), "run"))
			if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
				t.Errorf("exit %d, want %d; it does not say %q\n%s%s", code, tt.code, tt.says, stdout, stderr)
			}
		})
	}
	for name, args := range map[string]string{
		"unknown scenario": "scenario run pause-holdr", "unknown lock": "scenario run pause-holder --lock rediss",
		"no tokens": "scenario run pause-holder --lock redis --fencing write", "unknown in a matrix": "scenario run pause-holder nope",
		"nothing applies": "scenario run redlock-clock-jump --lock etcd --jobs 1", "unknown runtime": "scenario run --all --runtime dokcer",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, stderr, code := command(t, strings.Fields(args)...); code != 254 || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, want 254 and one line\n%s", code, stderr)
			}
		})
	}
}

// An interrupted matrix goes on where it was, and a file of expectations guards it
// in both directions.
func TestMatrix(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	dir := t.TempDir()
	out, expect := filepath.Join(dir, "m"), filepath.Join(dir, "expect.yaml")
	args := []string{"scenario", "run", "del-without-owner", "incr-then-set", "--lock", "redis-del,redis-incr,redis-lua", "--out", out}
	if _, stderr, code := command(t, append(args, "--write-expect", expect)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	m, err := results.ReadMatrix(filepath.Join(out, results.MatrixJSON))
	if err != nil || len(m.Cells) != 5 {
		t.Fatalf("%v, %+v", err, m)
	}
	for _, f := range []string{results.MatrixPage, results.MatrixMarkdown, results.JUnitFile, filepath.FromSlash(m.Cells[0].Dir + "/" + results.ReportFile)} {
		if _, err := os.Stat(filepath.Join(out, f)); err != nil {
			t.Error(err)
		}
	}
	// What an interruption leaves of a cell is no result.
	if err := os.Remove(filepath.Join(out, filepath.FromSlash(m.Cells[0].Dir), results.CellFile)); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := command(t, append(args, "--expect", expect)...)
	if code != 0 || strings.Count(stderr, "(kept)") != len(m.Cells)-1 {
		t.Errorf("exit %d, kept %d of %d\n%s", code, strings.Count(stderr, "(kept)"), len(m.Cells), stderr)
	}
	text, err := os.ReadFile(expect)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"[token-regression]": "valid", "none: valid": "none: [stale-write]"} {
		changed := strings.Replace(string(text), from, to, 1)
		if changed == string(text) {
			t.Fatalf("no %q in\n%s", from, text)
		}
		if err := os.WriteFile(expect, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := command(t, append(args, "--expect", expect)...); code != 1 {
			t.Errorf("%s instead of %s: exit %d\n%s", to, from, code, stderr)
		}
	}
}

// What was run otherwise is no result of the same command.
func TestMatrixKeepsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	args := []string{"scenario", "run", "del-without-owner", "--lock", "redis", "--jobs", "1", "--out", filepath.Join(t.TempDir(), "m")}
	for i, tt := range []struct {
		more string
		kept bool
	}{{"--cluster=redis", false}, {"--cluster=redis", true}, {"--cluster=redis-aof", false}} {
		if _, stderr, code := command(t, append(args, tt.more)...); code != 0 || strings.Contains(stderr, "(kept)") != tt.kept {
			t.Errorf("call %d: exit %d, want kept %v\n%s", i+1, code, tt.kept, stderr)
		}
	}
}

// The scenarios give the same verdict on either runtime: Kleppmann's clock jump, the update
// of a paused holder that write tokens alone do not save, what a failover and a power loss
// forget, and what only the servers know of those who wait.
func TestScenariosOnDocker(t *testing.T) {
	t.Parallel()
	needDocker(t)
	for _, args := range []string{
		"redlock-clock-jump --lock redlock --fencing none",
		"writes-only-tokens --lock etcd --fencing write",
		"failover-lost-lock --lock redis-replica --fencing none",
		"aof-everysec-powerloss --lock redis --fencing none",
		"thundering-herd --lock zookeeper --fencing none",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			all := append([]string{"scenario", "run", "--runtime", "docker", "--out", filepath.Join(t.TempDir(), "run")}, strings.Fields(args)...)
			if stdout, stderr, code := command(t, all...); code != 0 || !strings.Contains(stdout, "as expected") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
