package locktest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/compose/builtin"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/locktest"
	"github.com/picklock/picklock/results"
)

// innerEnv lets the tests run whose name begins with TestInner: they fail on purpose,
// and the others look at how.
const innerEnv = "PICKLOCK_LOCKTEST_INNER"

func needRedis(t *testing.T) {
	t.Helper()
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
}

// openTool opens one of picklock's own locks, as a lock of the user's that is right.
func openTool(name string) locktest.Open {
	return func(ctx context.Context, o clients.Options) (clients.Lock, error) {
		info, err := all.Locks().Lookup(name)
		if err != nil {
			return nil, err
		}
		return info.Open(ctx, o)
	}
}

// TestEtcdHolds: on servers that this program brings along, where tokens and a service
// that confirms make a difference.
func TestEtcdHolds(t *testing.T) {
	locktest.Run(t, openTool("etcd"), locktest.Options{
		Cluster: "etcd", Builtin: builtin.Run, Fencing: "read-write", Confirms: true, Faults: []string{"pause:holder"}, Limit: 6 * time.Second,
		Scenarios: []string{"pause-holder", "writes-only-tokens", "incr-then-set", "token-in-process", "answer-of-release-lost", "pause-in-release", "waiter-crashes"},
	})
}

// TestRedisHolds: a lock that is right is as expected in all of the catalogue.
func TestRedisHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	needRedis(t)
	locktest.Run(t, openTool("redis-lua"), locktest.Options{Cluster: "redis"})
}

// TestZooKeeperHolds: the same of one that is bound to a session, where that differs.
func TestZooKeeperHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	locktest.Run(t, openTool("zookeeper"), locktest.Options{Cluster: "zookeeper", Scenarios: []string{
		"pause-holder", "delayed-write", "holder-crashes", "waiter-crashes", "waiter-sleeps", "holder-wakes-up",
	}})
}

func TestExpectedViolations(t *testing.T) {
	needRedis(t)
	locktest.Run(t, openMine, locktest.Options{
		Cluster: "redis", Scenarios: []string{"pause-holder"}, Expect: map[string][]string{"pause-holder": {"stale-write", "lost-update"}},
	})
}

// inner has the test binary run one of the tests that fail on purpose.
func inner(t *testing.T, binary, name string, change func(*exec.Cmd)) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^"+name+"$", "-test.v", "-test.timeout=15m")
	cmd.Env = append(os.Environ(), innerEnv+"=1", "TMPDIR="+t.TempDir())
	if change != nil {
		change(cmd)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func onlyInner(t *testing.T) {
	t.Helper()
	if os.Getenv(innerEnv) == "" {
		t.Skip("it fails on purpose: see TestFailures")
	}
}

func TestInnerNaive(t *testing.T) {
	onlyInner(t)
	t.Run("of mine", func(t *testing.T) { // a name that is not a word
		locktest.Run(t, openPlain, locktest.Options{
			Cluster: "redis", Scenarios: []string{"pause-holder", "testdata/deletes-anothers.yaml"},
			Expect: map[string][]string{"pause-holder": {}}, // it must hold
		})
	})
}

func TestInnerMissed(t *testing.T) {
	onlyInner(t)
	locktest.Run(t, openTool("etcd"), locktest.Options{
		Cluster: "etcd", Builtin: builtin.Run, Fencing: "read-write", Scenarios: []string{"pause-holder"}, Expect: map[string][]string{"pause-holder": {"stale-write"}},
	})
}

// TestInnerSecond: the second of two calls is the one that breaks.
func TestInnerSecond(t *testing.T) {
	onlyInner(t)
	o := locktest.Options{Cluster: "etcd", Builtin: builtin.Run, Fencing: "read-write", Scenarios: []string{"pause-holder"}}
	locktest.Run(t, openTool("etcd"), o)
	o.Fencing, o.Expect = "none", map[string][]string{"pause-holder": {}}
	locktest.Run(t, openTool("etcd"), o)
}

func TestInnerBroken(t *testing.T) {
	onlyInner(t)
	locktest.Run(t, func(context.Context, clients.Options) (clients.Lock, error) { return nil, errors.New("no luck today") },
		locktest.Options{Cluster: "none", Scenarios: []string{"pause-holder"}})
}

func TestInnerNoTokens(t *testing.T) {
	onlyInner(t)
	locktest.Run(t, openMine, locktest.Options{Cluster: "redis", Fencing: "read-write", Scenarios: []string{}, Faults: []string{"none"}, Limit: 3 * time.Second})
}

func TestInnerHuntNoTokens(t *testing.T) {
	onlyInner(t)
	locktest.Hunt(t, openMine, locktest.HuntOptions{Cluster: "redis", Fencing: "read-write", Faults: []string{"none"}, Limit: 3 * time.Second})
}

// panicking is a lock with a bug in it.
type panicking struct{ clients.Lock }

func (panicking) Acquire(context.Context, string) (clients.Grant, error) {
	panic("out of luck in Acquire")
}
func (panicking) Close() error { return nil }

func openPanics(context.Context, clients.Options) (clients.Lock, error) { return panicking{}, nil }

func TestInnerPanics(t *testing.T) {
	onlyInner(t)
	locktest.Run(t, openPanics, locktest.Options{Cluster: "none", Scenarios: []string{"pause-holder"}})
}

func TestInnerPanicsAtOnce(t *testing.T) {
	onlyInner(t)
	locktest.Run(t, func(context.Context, clients.Options) (clients.Lock, error) { panic("out of luck in Open") },
		locktest.Options{Cluster: "none", Scenarios: []string{"pause-holder"}})
}

func TestInnerNeverComes(t *testing.T) {
	onlyInner(t)
	if locktest.Child() {
		t.Skip("not here")
	}
	locktest.Run(t, openMine, locktest.Options{Cluster: "none", Scenarios: []string{"pause-holder"}})
}

func TestInnerUsage(t *testing.T) {
	onlyInner(t)
	for name, o := range map[string]locktest.Options{
		"nothing": {}, "builtin": {Cluster: "etcd"}, "both": {Cluster: "redis", Servers: []string{"127.0.0.1:1"}}, "fencing": {Cluster: "redis", Fencing: "wishful"},
		"scenario": {Cluster: "redis", Scenarios: []string{"nope"}}, "expect": {Cluster: "redis", Expect: map[string][]string{"run": {"deadlock"}}},
		"faults": {Cluster: "none", Scenarios: []string{}, Faults: []string{"puase:holder"}},
	} {
		t.Run(name, func(t *testing.T) { locktest.Run(t, openMine, o) })
	}
}

func TestFailures(t *testing.T) {
	if locktest.Child() {
		t.Skip("a part of another test")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		needsRedis bool
		says       []string
		not        []string
	}{
		"TestInnerNaive": {true, []string{
			"--- FAIL: TestInnerNaive/of_mine/pause-holder", "not expected: stale-write: A wrote under A.1 at", "expected: valid", "report: /",
			"--- FAIL: TestInnerNaive/of_mine/deletes-anothers", "not expected: wrong-release: A released at", "granted-early: C was granted the lock",
		}, nil},
		"TestInnerMissed":         {false, []string{"expected, but not seen: stale-write", "expected: stale-write"}, nil},
		"TestInnerSecond":         {false, []string{"--- PASS: TestInnerSecond/pause-holder ", "--- FAIL: TestInnerSecond/pause-holder#01"}, nil},
		"TestInnerPanics":         {false, []string{"--- FAIL: TestInnerPanics/pause-holder", "client A broke down:", "panic: out of luck in Acquire", "locktest_test.go:"}, nil},
		"TestInnerPanicsAtOnce":   {false, []string{"--- FAIL: TestInnerPanicsAtOnce/pause-holder", "broke down:", "panic: out of luck in Open", "locktest_test.go:"}, nil},
		"TestInnerNoTokens":       {true, []string{"no client ever got through", "the lock was said to give tokens, and this grant has none"}, []string{"lock bug", "false-rejection"}},
		"TestInnerHuntNoTokens":   {true, []string{"no client ever got through", "the lock was said to give tokens, and this grant has none"}, []string{"lock bug", "false-rejection"}},
		"TestInnerBroken":         {false, []string{"no luck today"}, nil},
		"TestInnerNeverComes":     {false, []string{"run pause-holder: the test ended before it came to call 1 of locktest.Run or locktest.Hunt"}, nil},
		"TestInnerHuntPanics":     {false, []string{"--- FAIL: TestInnerHuntPanics", "client A broke down:", "panic: out of luck in Acquire", "locktest_test.go:"}, nil},
		"TestInnerHuntNever":      {false, []string{"--- FAIL: TestInnerHuntNever", "nothing is proved: no client got the lock in any schedule", "report: /"}, nil},
		"TestInnerHuntNeverComes": {false, []string{"the test ended before it came to call 1 of locktest.Run or locktest.Hunt"}, nil},
		"TestInnerHuntUsage": {false, []string{
			"what does the lock run on?", "set Options.Builtin to builtin.Run", `unknown fencing "wishful"`, "nowhere", `unknown fault "puase": did you mean pause?`, "pause:holder: a hunt aims by itself",
			`unknown anomaly "stale-wirte": did you mean stale-write?`, "depth 3: want 1 or 2", "a hunt of 1ms: want 1s at least", "a hunt of 1h0m0s: want 1s at least",
		}, []string{"--- PASS"}},
		"TestInnerUsage": {false, []string{
			"what does the lock run on?", "set Options.Builtin to builtin.Run", "either Options.Cluster or Options.Servers", `unknown fencing "wishful"`, `unknown scenario "nope"`, `something is expected of "run"`, `unknown fault "puase"`,
		}, []string{"--- PASS"}},
	} {
		t.Run(name, func(t *testing.T) {
			if want.needsRedis {
				needRedis(t)
			}
			out, code := inner(t, self, name, nil)
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
			for _, s := range want.says {
				if !strings.Contains(out, s) {
					t.Errorf("it does not say %q", s)
				}
			}
			for _, s := range want.not {
				if strings.Contains(out, s) {
					t.Errorf("it says %q", s)
				}
			}
			for _, m := range regexp.MustCompile(`report: (/.*)`).FindAllStringSubmatch(out, -1) {
				page, err := os.ReadFile(m[1])
				if err != nil || !bytes.Contains(page, []byte("go test -run")) {
					t.Errorf("report %s: %v, or it does not say how to do it again", m[1], err)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// startRedis starts a server that the test ends, and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	port := testkit.FreePort(t)
	addr := "127.0.0.1:" + port
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return addr
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestServersOfOnesOwn: servers that the test has started, whose addresses only it
// knows, and a process that starts no second ones.
func TestServersOfOnesOwn(t *testing.T) {
	needRedis(t)
	var addr string
	if !locktest.Child() {
		addr = startRedis(t)
	}
	out := t.TempDir()
	locktest.Run(t, openMine, locktest.Options{
		Servers: []string{addr}, Scenarios: []string{"pause-holder", "delayed-write"}, Out: out,
		Expect: map[string][]string{"pause-holder": {"stale-write", "lost-update"}},
	})
	if _, err := os.Stat(filepath.Join(out, "pause-holder", results.ReportFile)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(out, "delayed-write", results.ReportFile)); err == nil {
		t.Error("a cut was made where there is no network to cut")
	}
}

// TestOrdinaryUser: no root is needed.
func TestOrdinaryUser(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("the other tests show it already")
	}
	if locktest.Child() {
		t.Skip("a part of another test")
	}
	needRedis(t)
	// Where the user may read it.
	dir, err := os.MkdirTemp("", "picklock-locktest-user")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "locktest.test")
	if err := copyFile(binary, self); err != nil {
		t.Fatal(err)
	}
	out, code := inner(t, binary, "TestExpectedViolations", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "TMPDIR="+dir, "HOME="+dir)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	})
	if code != 0 || !strings.Contains(out, "--- PASS: TestExpectedViolations/pause-holder") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
