package harness_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
)

// kept is a bug of the seeded bugs and the quickest of the general means that were seen to find
// it: a scenario of the catalogue, the flags of a run, or the faults of a hunt. docs/internals/seeded-bugs.md has all of them.
type kept struct {
	bug, by string
	anomaly string // that proves it
}

var bugs = []kept{
	{"baton", "holder-crashes", "deadlock"},
	{"cached-hold", "--faults partition:holder:servers:in --duration 10s", "granted-early"},
	{"check-then-set", "race-for-lock", "granted-early"},
	{"cleanup-without-owner", "waiter-gives-up", "granted-early"},
	{"cleans-up-at-start", "hunt kill:client", "granted-early"},
	{"confirms-blindly", "sleeping-release", "false-belief"},
	{"del-without-owner", "sleeping-release", "wrong-release"},
	{"counts-readers", "hunt none", "granted-early"},
	{"deletes-by-pattern", "hunt none", "granted-early"},
	{"downgrade-in-two-steps", "hunt pause:client", "granted-early"},
	{"entry-keeps-lease", "hunt none", "granted-early"},
	{"entry-of-the-lost", "hunt none", "granted-early"},
	{"expires-from-first-try", "hunt none", "expired-grant"},
	{"extends-blindly", "late-renewal", "false-belief"},
	{"extensions-add-up", "hunt kill:client", "deadlock"},
	{"fail-open", "--faults partition:client:servers --duration 10s", "granted-early"},
	{"frees-other-key", "--clients 3 --duration 15s", "not-freed"}, // of five, some give up on a busy machine, and may have had it
	{"get-then-del", "pause-in-release", "granted-early"},
	{"impatient-waiter", "--duration 10s", "granted-early"},
	{"inner-release-frees", "hunt none", "granted-early"},
	{"one-watchdog-for-all", "hunt none", "stale-write"},
	{"keeps-cancelled", "hunt hold:client", "deadlock"},
	{"late-answer", "answer-of-acquire-lost", "granted-early"},
	{"lease-from-answer", "late-grant", "granted-early"},
	{"leaks-late-grant", "hunt pause:client,hold:client", "deadlock"},
	{"line-of-the-dead", "waiter-crashes", "deadlock"},
	{"line-of-the-gone", "waiter-gives-up", "deadlock"},
	{"line-of-three", "hunt none", "deadlock"},
	{"mail-of-longer-keys", "hunt none", "granted-early"},
	{"outlived-place", "hunt pause:client", "double-grant"},
	{"owner-is-host", "sleeping-release", "wrong-release"},
	{"permit-comes-back", "hunt none", "granted-early"},
	{"permit-counted-before", "hunt none", "granted-early"},
	{"permit-of-another", "hunt none", "revoked-early"},
	{"permit-renewed-in-vain", "hunt none", "granted-early"},
	{"permits-end-together", "hunt kill:client", "deadlock"},
	{"reader-frees-all", "hunt none", "granted-early"},
	{"reader-renews-all", "hunt kill:client", "not-freed"},
	{"readers-share-lease", "hunt none", "granted-early"},
	{"reentrant-by-thread", "contended", "granted-early"},
	{"refused-is-granted", "hunt refuse", "granted-early"},
	{"release-by-force", "answer-of-release-lost", "granted-early"},
	{"releases-next-grant", "hunt reset", "granted-early"},
	{"remembers-hold", "hunt pause:client", "false-belief"},
	{"renew-by-set", "late-renewal", "granted-early"},
	{"renew-takes-anew", "renewal-after-release", "stale-write"},
	{"renew-without-owner", "late-renewal", "granted-early"},
	{"renews-if-wanted", "hunt none", "revoked-early"},
	{"retry-counts-anew", "hunt withhold", "granted-early"},
	{"retry-enters-again", "hunt withhold,reset", "not-freed"},
	{"second-try-counts", "hunt withhold,hold", "granted-early"},
	{"setnx-no-ttl", "holder-crashes", "deadlock"},
	{"setnx-then-expire", "crash-in-acquire", "deadlock"},
	{"short-key", "whole-lease", "granted-early"},
	{"stops-to-free", "hunt none", "not-freed"},
	{"takes-up-again", "hunt kill:client", "granted-early"},
	{"tickets-as-text", "hunt none", "granted-early"},
	{"tidies-by-pattern", "hunt pause:client", "granted-early"},
	{"token-before-lock", "contended", "token-regression"},
	{"token-from-clock", "--faults clock:client --duration 8s", "token-regression"},
	{"token-in-the-key", "contended", "token-reuse"},
	{"token-per-client", "contended", "token-reuse"},
	{"turn-unchecked", "hunt none", "granted-early"},
	{"waiters-lease", "hunt none", "granted-early"},
	{"wake-up-is-grant", "contended", "granted-early"},
	{"wall-clock-takeover", "waiter-clock-ahead", "granted-early"},
	{"watchdog-adds-up", "hunt kill:client", "deadlock"},
	{"watchdog-is-deaf", "holder-wakes-up", "granted-early"},
	{"watchdog-outlives-grant", "hunt none", "false-loss"},
	{"watchdog-runs-on", "--faults kill:holder --duration 10s", "deadlock"},
	{"watchdog-starts-once", "hunt none", "stale-write"},
	{"watchdog-trips", "hunt partition:client", "stale-write"},
	{"whole-seconds", "whole-lease", "granted-early"},
}

// generic are the runs that every bug is put through by make seeded bugs.
var generic = []string{
	"--faults pause:client,kill:client,partition:client,clock:client --fencing read-write --duration 30s",
	"--faults pause:holder,partition:client:servers,kill:holder,clock:client --fencing read-write --duration 30s",
}

// noMutex are the bugs of locks of other kinds. They are run without fencing: their clients write nothing.
var noMutex = []string{"counts-readers", "downgrade-in-two-steps", "entry-keeps-lease", "entry-of-the-lost", "inner-release-frees", "permit-comes-back", "permit-counted-before", "permit-of-another", "permit-renewed-in-vain", "permits-end-together", "reader-frees-all", "reader-renews-all", "readers-share-lease"}

// menagerie builds the seeded bugs's program and says which bugs have a control of their own.
func menagerie(t *testing.T) (seeded string, own map[string]bool) {
	t.Helper()
	need(t, "redis")
	seeded = filepath.Join(t.TempDir(), "seeded")
	build := exec.Command("go", "build", "-o", seeded, "./testdata/seeded")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the seeded bugs: %v\n%s", err, out)
	}
	out, err := exec.Command(seeded).Output()
	if err != nil {
		t.Fatal(err)
	}
	own = map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(line, "\t")
		own[name] = strings.HasPrefix(rest, "true")
	}
	return seeded, own
}

// shown is what came of a lock of the seeded bugs under one of the means.
type shown struct {
	code  int
	found map[string]int
	why   string
	left  string // why it could not be run on this lock
}

// accused says that the lock is said to be broken, where nobody expects it of a lock that
// nothing fences.
func (s shown) accused() bool { return s.code == 1 }

// invoke runs the program under test and returns its exit code and what it printed.
func invoke(ctx context.Context, args ...string) (int, []byte, error) {
	defer turn(ctx, args)()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return 0, nil, err
	}
	code := cmd.ProcessState.ExitCode()
	if code > 2 || code < 0 {
		return code, nil, fmt.Errorf("picklock %v: exit %d\n%s", args, code, stderr.Bytes())
	}
	return code, stdout.Bytes(), nil
}

// put puts a lock through a scenario or a run, whose files are in dir.
func put(ctx context.Context, dir, lock, by string) (shown, error) {
	common := []string{"--lock", lock, "--cluster", "redis", "--json", "--out", dir}
	if strings.HasPrefix(by, "-") {
		code, out, err := invoke(ctx, slices.Concat([]string{"run"}, strings.Fields(by), common)...)
		if err != nil {
			return shown{}, err
		}
		var v checker.Verdict
		err = json.Unmarshal(out, &v)
		return shown{code: code, found: anomalies(v), why: v.Why}, err
	}
	if kinds, ok := strings.CutPrefix(by, "hunt "); ok {
		return putHunt(ctx, kinds, common)
	}
	code, out, err := invoke(ctx, slices.Concat([]string{"scenario", "run", by}, common)...)
	if err != nil {
		return shown{}, err
	}
	var c results.Cell
	err = json.Unmarshal(out, &c)
	return shown{code: code, found: c.Found, why: c.Why, left: c.LeftOut}, err
}

// putHunt puts a lock through a hunt with these kinds of fault.
func putHunt(ctx context.Context, kinds string, common []string) (shown, error) {
	code, out, err := invoke(ctx, slices.Concat([]string{"hunt", "--faults", kinds, "--ignore-hazards", "--fail-fast", "--duration", "40s", "--finish", "0s"}, common)...)
	if err != nil {
		return shown{}, err
	}
	var r struct {
		Counterexamples []struct {
			Anomaly string `json:"anomaly"`
		} `json:"counterexamples"`
	}
	err = json.Unmarshal(out, &r)
	s := shown{code: code, found: map[string]int{}}
	for _, x := range r.Counterexamples {
		s.found[x.Anomaly]++
	}
	return s, err
}

// visit is one lock of the seeded bugs under one of the means.
type visit struct {
	kept
	control bool
}

func (v visit) name() string {
	if v.control {
		return v.bug + " --right"
	}
	return v.bug
}

// visits are those of every bug and of its control. Where the control is the correct lock of
// all, it is put through the same but once.
func visits(own map[string]bool) []visit {
	var out []visit
	common := map[string]bool{}
	for _, k := range bugs {
		out = append(out, visit{kept: k})
		if own[k.bug] || !common[k.by] {
			out = append(out, visit{kept: k, control: true})
			common[k.by] = common[k.by] || !own[k.bug]
		}
	}
	return out
}

// Every bug of the seeded bugs is found by what picklock has for any lock, and none of the controls,
// which differ by that bug alone, is accused by the same.
func TestSeededBugs(t *testing.T) {
	t.Parallel()
	seeded, own := menagerie(t)
	for _, k := range bugs {
		if _, ok := own[k.bug]; !ok {
			t.Errorf("there is no seeded bug %s", k.bug)
		}
	}
	if len(own) != len(bugs) {
		t.Errorf("there are %d seeded bugs, and %d are looked for", len(own), len(bugs))
	}
	for _, v := range visits(own) {
		t.Run(v.name(), func(t *testing.T) {
			if strings.HasPrefix(v.by, "hunt ") {
				t.Skip("how far a hunt comes depends on what runs beside it: make seeded ARGS=hunt")
			}
			t.Parallel()
			s, err := put(t.Context(), filepath.Join(t.TempDir(), "run"), "exec:"+seeded+" "+v.name(), v.by)
			switch {
			case err != nil:
				t.Error(err)
			case !v.control && (!s.accused() || s.found[v.anomaly] == 0):
				t.Errorf("%s does not show %s: exit %d, %v %s %s", v.by, v.anomaly, s.code, s.found, s.why, s.left)
			case v.control && (s.code != 0 || s.left != ""):
				t.Errorf("%s accuses the control, or proves nothing of it: exit %d, %v %s %s", v.by, s.code, s.found, s.why, s.left)
			}
		})
	}
}

// slowAnswer is a client that is stopped in its acquire until its grant is over and another client has written.
const slowAnswer = `name: slow-answer
about: A is stopped in its acquire until the lease that it gets is over
locks: ["*"]
ttl: 500ms
clients:
  A: acquire, read, write, release
  B: await pause on, acquire, read, write, work 0.3 leases, write, release
faults:
  - when: A's acquire has sent message 1
    pause: A
    until: after B's write
expect:
  "*": valid
`

// The lock that the controls share hands out no grant whose lease is over when its answer comes.
func TestSeededControlGivesBackLateGrants(t *testing.T) {
	t.Parallel()
	seeded, _ := menagerie(t)
	file := filepath.Join(t.TempDir(), "slow-answer.yaml")
	if err := os.WriteFile(file, []byte(slowAnswer), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := put(t.Context(), filepath.Join(t.TempDir(), "run"), "exec:"+seeded+" extends-blindly --right", file)
	if err != nil {
		t.Fatal(err)
	}
	if s.code != 0 {
		t.Errorf("exit %d, %v %s %s", s.code, s.found, s.why, s.left)
	}
}

// TestSeededBugsWhole puts all bugs and all controls through everything, and writes the table of
// docs/internals/seeded-bugs.md to the file that PICKLOCK_SEEDED names.
func TestSeededBugsWhole(t *testing.T) {
	path := os.Getenv("PICKLOCK_SEEDED")
	if path == "" {
		t.Skip("takes an hour: make seeded")
	}
	seeded, own := menagerie(t)
	var mu sync.Mutex
	found, accused := map[string][]string{}, map[string][]string{}
	t.Run("all", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(own)) {
			for _, control := range []string{"", " --right"} {
				t.Run(name+control, func(t *testing.T) {
					t.Parallel()
					by := everything(t, "exec:"+seeded+" "+name+control)
					mu.Lock()
					defer mu.Unlock()
					if control != "" {
						accused[name] = by
						if len(by) > 0 {
							t.Errorf("accused by %v", by)
						}
						return
					}
					found[name] = by
					if len(by) == 0 {
						t.Error("found by nothing")
					}
				})
			}
		}
	})
	var b strings.Builder
	b.WriteString("| bug | found by | its control accused by |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(own)) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, cmp.Or(strings.Join(found[name], ", "), "**nothing**"), cmp.Or(strings.Join(accused[name], ", "), "nothing"))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// everything puts a lock through the catalogue and the generic runs, and returns which of
// them accuse it.
func everything(t *testing.T, lock string) []string {
	t.Helper()
	code, out, err := invoke(t.Context(), "scenario", "run", "--all", "--lock", lock, "--cluster", "redis", "--jobs", "1", "--json", "--out", filepath.Join(t.TempDir(), "matrix"))
	if err != nil {
		t.Fatal(err)
	}
	var m results.Matrix
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, c := range m.Cells {
		if c.State() == results.Unexpected && !slices.Contains(by, c.Scenario) {
			by = append(by, c.Scenario)
		}
	}
	if (code == 1) != (len(by) > 0) {
		t.Errorf("the matrix exits with %d, and %v are not as expected", code, by)
	}
	for i, flags := range generic {
		if slices.ContainsFunc(noMutex, func(bug string) bool { return strings.Contains(lock, " "+bug) }) {
			flags = strings.Replace(flags, " --fencing read-write", "", 1)
		}
		s, err := put(t.Context(), filepath.Join(t.TempDir(), "run"), lock, flags)
		if err != nil {
			t.Fatal(err)
		}
		if s.accused() {
			by = append(by, fmt.Sprintf("run %d", i+1))
		}
	}
	return by
}
