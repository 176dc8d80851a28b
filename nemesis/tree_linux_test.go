package nemesis

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis/clock"
)

// A node's processes may make groups of their own, as Postgres's do: a signal reaches
// them all the same, and one that runs is enough for the node not to be stopped.
func TestSignalReachesOtherGroups(t *testing.T) {
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		testkit.Need(t, "setsid", err)
	}
	cmd := exec.Command("sh", "-c", setsid+" sh -c 'sleep 100 & wait' & "+setsid+" sleep 100 & echo up; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	var tree []proc.Process
	t.Cleanup(func() {
		for _, r := range tree {
			_ = syscall.Kill(r.PID, syscall.SIGKILL)
		}
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	outside := func() (out []int) {
		for _, r := range tree {
			if r.Group != pid {
				out = append(out, r.PID)
			}
		}
		return out
	}
	for range 1000 { // setsid makes its group some time after the echo
		if tree, err = proc.Tree(pid); err != nil {
			t.Fatal(err)
		}
		if len(outside()) == 3 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(outside()) != 3 || tree[0].PID != pid {
		t.Fatalf("tree %+v", tree)
	}
	var h LocalInjector
	await := func(want bool) {
		t.Helper()
		for range 1000 {
			got, err := h.Do(t.Context(), Op{Name: OpStopped, PID: pid})
			if err != nil {
				t.Fatal(err)
			}
			if got.Yes == want {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("stopped is never %v", want)
	}
	if err := do(t, h, Op{Name: OpSignal, PID: pid, Signal: syscall.SIGSTOP}); err != nil {
		t.Fatal(err)
	}
	await(true)
	grandchild := slices.Max(outside())
	if err := syscall.Kill(grandchild, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(false)
	if err := do(t, h, Op{Name: OpSignal, PID: pid, Signal: syscall.SIGCONT}); err != nil {
		t.Fatal(err)
	}
	await(false)
}

// The clock of a server that makes a process for each session: those that are there are
// shifted, and those that come later.
func TestClockOfPostgres(t *testing.T) {
	testkit.Need(t, "clock", clock.Supported())
	def, err := compose.Load(t.Context(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Need(t, "postgres", def.Servers()[0].Spec.Local.Missing())
	dir := t.TempDir()
	c, err := (&local.Sandbox{Why: "test"}).Start(t.Context(), def, compose.Options{Self: "/none", LogDir: dir, DataDir: dir + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	n := c.Nodes()[0]
	session := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres database=postgres sslmode=disable", n.Addr, n.Port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		return conn
	}
	var h LocalInjector
	sessions := []*pgx.Conn{session(), session()}
	for _, offset := range []time.Duration{time.Hour, -time.Minute, 0} {
		if err := do(t, h, Op{Name: OpSetClock, PID: n.PID, Clock: clock.Setting{Offset: offset}}); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Do(t.Context(), Op{Name: OpReadClock, PID: n.PID}); err != nil || got.Clock.Offset != offset {
			t.Errorf("read back %v, %v; want %v", got, err, offset)
		}
		sessions = append(sessions, session())
		for i, s := range sessions {
			var now time.Time
			if err := s.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil {
				t.Fatal(err)
			}
			if got := time.Until(now); (got - offset).Abs() > 10*time.Second {
				t.Errorf("session %d is %v ahead, want %v", i, got, offset)
			}
		}
	}
	// All sessions' clocks are as fast, the new one's, too.
	const rate = 2
	if err := do(t, h, Op{Name: OpSetClock, PID: n.PID, Clock: clock.Setting{Rate: rate}}); err != nil {
		t.Fatal(err)
	}
	sessions = append(sessions, session())
	read := func(s *pgx.Conn) (wrong, before, after time.Time) {
		before = time.Now()
		if err := s.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&wrong); err != nil {
			t.Fatal(err)
		}
		return wrong, before, time.Now()
	}
	for i, s := range sessions {
		wrong, before, after := read(s)
		time.Sleep(50 * time.Millisecond) // the longer, the finer; nothing is awaited
		later, before2, after2 := read(s)
		got, least, most := later.Sub(wrong), before2.Sub(after), after2.Sub(before)
		t.Logf("session %d: x%.3f", i, float64(got)/float64((least+most)/2))
		if got < rate*least-time.Millisecond || got > rate*most+time.Millisecond {
			t.Errorf("session %d counted %v in %v to %v", i, got, least, most)
		}
	}
	if got, err := h.Do(t.Context(), Op{Name: OpReadClock, PID: n.PID}); err != nil || got.Clock.Rate != rate {
		t.Errorf("read back %+v, %v", got, err)
	}
	// A process whose clock differs is an error.
	tree, err := proc.Living(n.PID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clock.Set(t.Context(), tree[len(tree)-1].PID, clock.Setting{Offset: time.Hour}, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Do(t.Context(), Op{Name: OpReadClock, PID: n.PID}); err == nil {
		t.Errorf("one process is an hour ahead: read back %v", got)
	}
}
