package nemesis

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/internal/testkit"
)

var sandbox *local.Sandbox

func TestMain(m *testing.M) {
	var code int
	var done bool
	if sandbox, code, done = local.Enter(); !done {
		code = m.Run()
	}
	os.Exit(code)
}

// group starts a shell and a child of its own in a new process group.
func group(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestStopAndContinueAWholeGroup(t *testing.T) {
	var h LocalInjector
	pid := group(t)
	await := func(want bool) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			got, err := h.Do(t.Context(), Op{Name: OpStopped, PID: pid})
			if err != nil {
				t.Fatal(err)
			}
			if got.Yes == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("stopped is %v, want %v", got.Yes, want)
			}
		}
	}
	await(false)
	if err := do(t, h, Op{Name: OpSignal, PID: pid, Signal: syscall.SIGSTOP}); err != nil {
		t.Fatal(err)
	}
	await(true)
	// One member that runs is enough for the group not to be stopped.
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err == nil {
		var child int
		if _, err := fmt.Sscan(string(children), &child); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(child, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		await(false)
	}
	if err := do(t, h, Op{Name: OpSignal, PID: pid, Signal: syscall.SIGCONT}); err != nil {
		t.Fatal(err)
	}
	await(false)
}

func TestGoneGroup(t *testing.T) {
	var h LocalInjector
	if _, err := h.Do(t.Context(), Op{Name: OpStopped, PID: 1<<22 - 1}); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Stopped: %v", err)
	}
	if err := do(t, h, Op{Name: OpSignal, PID: 1<<22 - 1, Signal: syscall.SIGCONT}); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("Signal: %v", err)
	}
	for _, pid := range []int{1, 0, -1} {
		if err := do(t, h, Op{Name: OpSignal, PID: pid, Signal: syscall.SIGCONT}); err == nil {
			t.Errorf("a signal to group %d was not refused", pid)
		}
	}
}

// isolated are clients that do nothing, each on a node of its own.
func isolated(t *testing.T, names ...string) []compose.Node {
	t.Helper()
	if !sandbox.Isolated {
		testkit.Need(t, "namespaces", errors.New(sandbox.Why))
	}
	dir := t.TempDir()
	c, err := sandbox.Start(t.Context(), &compose.Definition{Name: "none"}, compose.Options{Self: "/bin/sleep", LogDir: dir, DataDir: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // its processes end with the test's anyhow
	for _, name := range names {
		if _, err := c.Spawn(t.Context(), compose.Program{Name: name, Role: compose.Client, Args: []string{"1000"}}); err != nil {
			t.Fatal(err)
		}
	}
	return c.Nodes()
}

// Packets are dropped in one direction only, and no longer than wanted.
func TestDropOneWay(t *testing.T) {
	var h LocalInjector
	nodes := isolated(t, "a", "b")
	a, b := nodes[0], nodes[1]
	reach := func(from, to compose.Node, want bool) {
		t.Helper()
		to.Port = 9
		if got, err := h.Do(t.Context(), Op{Name: OpReach, NetNS: from.NetNS, Addr: to.HostPort()}); err != nil || got.Yes != want {
			t.Errorf("%s reaches %s: %v, %v, want %v", from.Name, to.Name, got, err, want)
		}
	}
	reach(a, b, true)
	if err := do(t, h, Op{Name: OpDrop, NetNS: b.NetNS, From: []string{a.Addr}}); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Do(t.Context(), Op{Name: OpDropped, NetNS: b.NetNS}); err != nil || len(n.Dropped) != 1 || n.Dropped[a.Addr] != 0 {
		t.Errorf("dropped %v, %v before any packet", n, err)
	}
	reach(a, b, false)
	if n, err := h.Do(t.Context(), Op{Name: OpDropped, NetNS: b.NetNS}); err != nil || n.Dropped[a.Addr] == 0 {
		t.Errorf("dropped %v, %v after a packet", n, err)
	}
	if n, err := h.Do(t.Context(), Op{Name: OpDropped, NetNS: a.NetNS}); err != nil || len(n.Dropped) != 0 {
		t.Errorf("the other end drops %v, %v", n, err)
	}
	if err := do(t, h, Op{Name: OpDrop, NetNS: b.NetNS}); err != nil {
		t.Fatal(err)
	}
	reach(a, b, true)
	if err := do(t, h, Op{Name: OpDrop, NetNS: b.NetNS, From: []string{"x"}}); err == nil {
		t.Error("nonsense was taken for an address")
	}
	if err := do(t, h, Op{Name: OpDrop, NetNS: "", From: []string{a.Addr}}); err == nil {
		t.Error("a shared network was cut")
	}
}

// What one drops is not what another drops at the same node, and ends without it.
func TestDropScopes(t *testing.T) {
	var h LocalInjector
	at := isolated(t, "a")[0].NetNS
	drops := func(scope string, want ...string) {
		t.Helper()
		r, err := h.Do(t.Context(), Op{Name: OpDropped, NetNS: at, Scope: scope})
		if got := slices.Sorted(maps.Keys(r.Dropped)); err != nil || !slices.Equal(got, want) {
			t.Errorf("scope %q drops %v, %v, want %v", scope, got, err, want)
		}
	}
	for _, op := range []Op{{From: []string{"10.0.0.1"}}, {Scope: "-2", From: []string{"10.0.0.2"}}, {Scope: "-12", From: []string{"10.0.0.3"}}} {
		op.Name, op.NetNS = OpDrop, at
		if err := do(t, h, op); err != nil {
			t.Fatal(err)
		}
	}
	drops("", "10.0.0.1")
	drops("-2", "10.0.0.2")
	if err := do(t, h, Op{Name: OpDrop, NetNS: at, Scope: "-2"}); err != nil {
		t.Fatal(err)
	}
	drops("-2")
	drops("", "10.0.0.1")
	drops("-12", "10.0.0.3")
}
