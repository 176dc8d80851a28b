package clock

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := buildGo(); err == nil {
		_ = os.RemoveAll(bin[:strings.LastIndexByte(bin, '/')])
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func TestEveryClockOfAGoProcess(t *testing.T) {
	p := startGo(t, "busy")
	mustRead(t, p.pid, 0)
	if r := mustShift(t, p.pid, 0); r != (Report{}) {
		t.Errorf("healing an unhooked process did something: %+v", r)
	}
	before := time.Now()
	for i, d := range []time.Duration{time.Minute, -time.Minute, 999_999 * time.Microsecond, -time.Microsecond, -1900 * time.Millisecond,
		30 * 365 * 24 * time.Hour, 0, 5 * time.Second} {
		r := mustShift(t, p.pid, d)
		if r.Installed != (i == 0) {
			t.Errorf("shift %d: %+v", i, r)
		}
		if i == 0 && (r.Threads < 5 || r.Stopped <= 0) {
			t.Errorf("shift %d: %+v", i, r)
		}
		mustRead(t, p.pid, d)
		for range 20 {
			p.checkClocks(d)
		}
	}
	if d := time.Since(before).Round(0) - time.Now().Round(0).Sub(before.Round(0)); d.Abs() > 100*time.Millisecond {
		t.Errorf("the test's own clock moved by %v", d)
	}
	// Sub-microsecond parts are cut off.
	mustShift(t, p.pid, -1999)
	mustRead(t, p.pid, -time.Microsecond)
}

// settings are clocks that run wrong, each set as it stood a while ago.
var settings = []Setting{
	{Rate: 1.1}, {Rate: 0.9}, {Rate: 1.0001}, {Rate: 100, Offset: -time.Hour}, {Rate: 0.01, Offset: 1900 * time.Millisecond}, {Offset: -60 * 365 * 24 * time.Hour, Rate: 1.5}, {},
}

func TestRatesOfAGoProcess(t *testing.T) {
	p := startGo(t, "busy")
	for _, to := range settings {
		at := Now() - int64(90*time.Second)
		if _, err := Set(t.Context(), p.pid, to, at); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			p.send("clocks")
			p.checkSetting(p.line(), to, at)
		}
		want := to.Rate
		if want == 0 {
			want = 1
		}
		runs(t, func() time.Time { return time.Unix(0, p.wall()) }, want)
	}
	mustRead(t, p.pid, 0)
}

// wall asks the target what its clock shows.
func (p *target) wall() int64 {
	p.t.Helper()
	p.send("clocks")
	var got map[string]struct{ Value int64 }
	if err := json.Unmarshal([]byte(p.line()), &got); err != nil {
		p.t.Fatal(err)
	}
	return got["REALTIME"].Value
}

// A strobing clock is seen at both of its times, and at no other.
func TestStrobingClock(t *testing.T) {
	p := startGo(t, "busy")
	for _, by := range []time.Duration{time.Hour, -30 * time.Second} {
		if _, err := Set(t.Context(), p.pid, Setting{Strobe: by}, 0); err != nil {
			t.Fatal(err)
		}
		seen := map[bool]int{}
		eventually(t, "both times", func() bool {
			before := Now()
			got := p.wall()
			after := Now()
			plain, jumped := got >= before && got <= after, got >= before+int64(by) && got <= after+int64(by)
			if plain == jumped {
				t.Fatalf("strobe of %v: it is %v ahead", by, time.Duration(got-before))
			}
			seen[jumped]++
			return seen[true] > 0 && seen[false] > 0
		})
		if s, err := Read(p.pid, 0); err != nil || s.Strobe != by || s.Offset != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	mustShift(t, p.pid, 0)
	p.checkClocks(0)
}

func TestManyInstallsUnderLoad(t *testing.T) {
	p := startGo(t, "busy")
	var held []time.Duration
	moved, retries := 0, 0
	for i := range 50 {
		d := time.Duration(i-25)*time.Hour + 123*time.Millisecond
		r := mustShift(t, p.pid, d)
		if !r.Installed {
			t.Fatal("not installed")
		}
		held, moved, retries = append(held, r.Stopped), moved+r.Moved, retries+r.Retries
		p.checkClocks(d)
		mustShift(t, p.pid, 0)
		p.checkClocks(0)
		unhook(t, p.pid)
		p.checkClocks(0)
	}
	slices.Sort(held)
	t.Logf("50 installs: stopped p50 %v, max %v; %d threads moved, %d retries", held[25], held[49], moved, retries)
}

// A strobe flips the offset far faster than a reader can be scheduled.
func TestStrobe(t *testing.T) {
	p := startGo(t, "busy")
	mustShift(t, p.pid, time.Hour)
	const n = 2000
	start := time.Now()
	for i := range n {
		mustShift(t, p.pid, time.Duration(i%2)*time.Hour+time.Duration(i)*time.Millisecond)
	}
	t.Logf("%v a change", time.Since(start)/n)
	proc, err := openProcess(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.close()
	data, err := proc.v.hookData()
	if err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	for i := range n {
		if err := proc.flip(data, Setting{Offset: time.Duration(i) * time.Millisecond}.slot(0)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("of which %v are the write; the rest is finding the hook", time.Since(start)/n)
	mustShift(t, p.pid, 0)
	p.checkClocks(0)
}

func TestCost(t *testing.T) {
	p := startGo(t)
	cost := func() float64 { // of many the least: a busy machine only adds to it
		least := math.Inf(1)
		for range 20 {
			ns, err := strconv.ParseFloat(p.ask("cost"), 64)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, ns)
		}
		return least
	}
	before := cost()
	mustShift(t, p.pid, time.Hour)
	shifted := cost()
	p.checkClocks(time.Hour)
	if _, err := Set(t.Context(), p.pid, Setting{Rate: 1.1, Strobe: time.Second}, 0); err != nil {
		t.Fatal(err)
	}
	t.Logf("clock_gettime: %.1f ns unhooked, %.1f ns shifted, %.1f ns at a rate and strobing", before, shifted, cost())
}

func TestNoSuchProcess(t *testing.T) {
	p := startGo(t)
	p.kill()
	if _, err := shift(context.Background(), p.pid, time.Hour); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Shift: %v", err)
	}
	if _, err := offset(p.pid); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Read: %v", err)
	}
	for _, pid := range []int{0, -1} {
		if _, err := shift(context.Background(), pid, time.Hour); err == nil {
			t.Errorf("shifted process %d", pid)
		}
	}
}

func TestOwnProcess(t *testing.T) {
	mustRead(t, os.Getpid(), 0)
	if _, err := shift(context.Background(), os.Getpid(), time.Hour); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "itself") {
		t.Error(err)
	}
}

// Where /proc shows another PID namespace than ptrace uses, nothing may be touched.
func TestForeignProc(t *testing.T) {
	if os.Getenv("PICKLOCK_CLOCK_FOREIGN") != "" {
		_, err := offset(os.Getpid())
		_, _ = os.Stdout.WriteString(err.Error())
		os.Exit(0)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestForeignProc$")
	c.Env = append(os.Environ(), "PICKLOCK_CLOCK_FOREIGN=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	out, err := c.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("no PID namespaces here: ", err)
	}
	if err != nil || !strings.Contains(string(out), "PID namespace") {
		t.Errorf("%v: %s", err, out)
	}
}

// What was worked out before the stop must still hold in it.
func TestStalePlan(t *testing.T) {
	for what, change := range map[string]func(p *target){
		"exec":          func(p *target) { p.expectAnswer("exec", "ready") },
		"another patch": func(p *target) { mustShift(t, p.pid, time.Minute) },
	} {
		p := startGo(t)
		proc, err := openProcess(p.pid)
		if err != nil {
			t.Fatal(err)
		}
		defer proc.close()
		prog, err := build(proc.v, Setting{Offset: time.Hour}.slot(0))
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		d, _ := offset(p.pid)
		var r Report
		err = onTracer(func() error { return proc.install(context.Background(), prog, &r) })
		if !errors.Is(err, errAgain) || r.Installed {
			t.Errorf("%s: %v, %+v", what, err, r)
		}
		p.checkClocks(d)
	}
}

// A process that starts one program after the other has a vDSO at most times, and what
// cannot be done in between is done a moment later.
func TestProgramsInARow(t *testing.T) {
	c := exec.Command("sh", "-c", `exec sh -c "$0" "$0"`, `exec sh -c "$0" "$0"`)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if _, err := shift(t.Context(), c.Process.Pid, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := offset(c.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
}

// An installation that was killed between its writes is finished by the next one.
func TestHalfAnInstallation(t *testing.T) {
	for _, left := range hooked {
		p := startGo(t, "busy")
		mustShift(t, p.pid, time.Hour)
		unhook(t, p.pid, clockGettime)
		if left != clockGettime {
			unhook(t, p.pid, left)
		}
		mustRead(t, p.pid, 0)
		if r := mustShift(t, p.pid, time.Minute); !r.Installed {
			t.Errorf("%+v", r)
		}
		p.checkClocks(time.Minute)
	}
}

func TestContextEnds(t *testing.T) {
	p := startGo(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := shift(ctx, p.pid, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.checkClocks(0)
}
