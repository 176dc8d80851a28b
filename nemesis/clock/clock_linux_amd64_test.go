package clock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
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

func TestOffsetTooLarge(t *testing.T) {
	for _, d := range []time.Duration{maxOffset + 1, -maxOffset - 1} {
		if _, err := Shift(context.Background(), os.Getpid(), d); err == nil || !strings.Contains(err.Error(), "68 years") {
			t.Errorf("%v: %v", d, err)
		}
	}
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
		if err := proc.flip(data, time.Duration(i)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("of which %v are the write; the rest is finding the hook", time.Since(start)/n)
	mustShift(t, p.pid, 0)
	p.checkClocks(0)
}

func TestCost(t *testing.T) {
	p := startGo(t)
	before := p.ask("cost")
	mustShift(t, p.pid, time.Hour)
	t.Logf("clock_gettime: %s ns unhooked, %s ns hooked", before, p.ask("cost"))
	p.checkClocks(time.Hour)
}

// A thread that stands inside the replaced bytes continues on their copies.
func TestThreadInsideTheReplacedBytes(t *testing.T) {
	for _, name := range hooked {
		t.Run(name, func(t *testing.T) {
			p := startGo(t)
			tid := p.spin(name)
			if !stepTo(t, p.pid, tid, name, false) {
				t.Skipf("the first instruction of this kernel's %s covers all replaced bytes", name)
			}
			if r := mustShift(t, p.pid, time.Hour); r.Moved != 1 {
				t.Errorf("%+v", r)
			}
			eventually(t, "still stopped", func() bool { return allIn(p.pid, 'T') })
			p.resume()
			p.checkClocks(time.Hour)
		})
	}
}

// A signal handler that will return into the replaced bytes must have done so first.
func TestSignalFrameInsideTheReplacedBytes(t *testing.T) {
	p := startGo(t)
	tid := p.spin(clockGettime)
	if !stepTo(t, p.pid, tid, clockGettime, true) {
		t.Skip("the first instruction of this kernel's clock_gettime covers all replaced bytes")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Shift(ctx, p.pid, time.Hour); err == nil || !strings.Contains(err.Error(), "handles a signal") || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("shifted while the handler could not return: %v", err)
	}
	mustRead(t, p.pid, 0)

	done := make(chan Report)
	go func() {
		r, err := Shift(context.Background(), p.pid, time.Hour)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	time.Sleep(20 * time.Millisecond) // let it fail a few times; too short only makes the test weaker
	p.resume()
	if r := <-done; !r.Installed || r.Retries == 0 {
		t.Errorf("%+v", r)
	}
	p.checkClocks(time.Hour)
}

func (p *target) resume() {
	p.t.Helper()
	if err := unix.Kill(p.pid, unix.SIGCONT); err != nil {
		p.t.Fatal(err)
	}
}

func TestPausedProcessStaysPaused(t *testing.T) {
	p := startGo(t, "busy")
	halt := func() {
		if err := unix.Kill(p.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "stopped", func() bool { return allIn(p.pid, 'T') })
	}
	halt()
	p.send("clocks") // answered by whoever wakes it
	for i, d := range []time.Duration{time.Minute, time.Hour, 0} {
		if r := mustShift(t, p.pid, d); r.Installed != (i == 0) {
			t.Errorf("%+v", r)
		}
		mustRead(t, p.pid, d)
		eventually(t, "stopped again", func() bool { return allIn(p.pid, 'T') })
	}
	mustShift(t, p.pid, time.Minute)
	select {
	case l := <-p.lines:
		t.Fatal("the paused process answered: " + l)
	case <-time.After(50 * time.Millisecond):
	}
	p.resume()
	p.checkAnswer(p.line(), time.Minute)
}

// Pause and clock faults begin and end at any time relative to each other.
func TestPauseRacesWithInstall(t *testing.T) {
	p := startGo(t, "busy")
	for i := range 40 {
		sig, state := unix.SIGSTOP, byte('T')
		if i%2 == 1 {
			sig = unix.SIGCONT
		}
		sent := make(chan error)
		go func() {
			for range i * 50 {
				_ = unix.Getppid()
			}
			sent <- unix.Kill(p.pid, sig)
		}()
		mustShift(t, p.pid, time.Hour)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if sig == unix.SIGSTOP {
			eventually(t, "stopped", func() bool { return allIn(p.pid, state) })
		} else {
			p.checkClocks(time.Hour)
		}
		unhook(t, p.pid)
	}
	p.resume()
	p.checkClocks(0)
}

func TestProcessEndsMeanwhile(t *testing.T) {
	for i := range 12 {
		p := startGo(t, "busy")
		go func() {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond)
			_ = p.cmd.Process.Kill()
		}()
		var err error
		for err == nil {
			_, err = Shift(context.Background(), p.pid, time.Hour)
			if err == nil {
				_ = tryUnhook(p.pid) // so that the next one installs again
			}
		}
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%v", err)
		}
		<-p.ended
		// Its end was left for its parent to see.
		if p.err == nil || p.err.Error() != "signal: killed" {
			t.Errorf("the parent saw %v", p.err)
		}
	}
}

// The end of a traced process is for the one who started it to collect.
func TestStopDoesNotReap(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	err = onTracer(func() error {
		s, err := stop(context.Background(), pid)
		defer s.release()
		_ = c.Process.Kill()
		eventually(t, "a zombie", func() bool { return taskState(pid, pid) == 'Z' })
		_, _, _ = stopOf(pid)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("its parent saw %v", err)
	}
}

// A thread that is stopped by a signal on its way gets that signal after all.
func TestSignalIsGivenBack(t *testing.T) {
	p := startGo(t)
	p.expectAnswer("notify", "ok")
	err := onTracer(func() error {
		th := &thread{tid: p.pid}
		s := &stopped{pid: p.pid, threads: map[int]*thread{p.pid: th}}
		defer s.release()
		if err := errors.Join(unix.PtraceSeize(p.pid), unix.Tgkill(p.pid, p.pid, unix.SIGUSR1), s.await(context.Background(), th)); err != nil {
			return err
		}
		if th.signal != unix.SIGUSR1 {
			t.Errorf("stopped by %v", th.signal)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.expect("got user defined signal 1")
}

func (p *target) expectAnswer(cmd, want string) {
	p.t.Helper()
	p.send(cmd)
	p.expect(want)
}

func TestNoSuchProcess(t *testing.T) {
	p := startGo(t)
	p.kill()
	if _, err := Shift(context.Background(), p.pid, time.Hour); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Shift: %v", err)
	}
	if _, err := Read(p.pid); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Read: %v", err)
	}
	for _, pid := range []int{0, -1} {
		if _, err := Shift(context.Background(), pid, time.Hour); err == nil {
			t.Errorf("shifted process %d", pid)
		}
	}
}

func TestOwnProcess(t *testing.T) {
	mustRead(t, os.Getpid(), 0)
	if _, err := Shift(context.Background(), os.Getpid(), time.Hour); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "itself") {
		t.Error(err)
	}
}

// A thread that waits for its vfork child cannot stop, and must not be waited for.
func TestThreadInVfork(t *testing.T) {
	p := startGo(t)
	tid, err := strconv.Atoi(p.ask("vfork"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "uninterruptible", func() bool { return taskState(p.pid, tid) == 'D' })
	r := mustShift(t, p.pid, time.Hour)
	if s := taskState(p.pid, tid); s != 'D' || !r.Installed {
		t.Errorf("state %c, %+v", s, r)
	}
	p.expect("vfork done")
	p.checkClocks(time.Hour)
}

// Where /proc shows another PID namespace than ptrace uses, nothing may be touched.
func TestForeignProc(t *testing.T) {
	if os.Getenv("PICKLOCK_CLOCK_FOREIGN") != "" {
		_, err := Read(os.Getpid())
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

func TestExecForgetsTheHook(t *testing.T) {
	p := startGo(t, "busy")
	mustShift(t, p.pid, time.Hour)
	p.send("exec")
	p.expect("ready")
	mustRead(t, p.pid, 0)
	p.checkClocks(0)
	if r := mustShift(t, p.pid, time.Minute); !r.Installed {
		t.Errorf("%+v", r)
	}
	p.checkClocks(time.Minute)
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
		prog, err := build(proc.v, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		d, _ := Read(p.pid)
		var r Report
		err = onTracer(func() error { return proc.install(context.Background(), prog, &r) })
		if !errors.Is(err, errAgain) || r.Installed {
			t.Errorf("%s: %v, %+v", what, err, r)
		}
		p.checkClocks(d)
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

func TestManyProcessesAtOnce(t *testing.T) {
	var ps []*target
	for range 4 {
		ps = append(ps, startGo(t))
	}
	var wg sync.WaitGroup
	for i, p := range ps {
		for k := range 4 { // also several calls for one process
			wg.Go(func() {
				for n := range 25 {
					if _, err := Shift(context.Background(), p.pid, time.Duration(100*i+10*k+n)*time.Second); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i, p := range ps {
		d, err := Read(p.pid)
		if err != nil || int(d/time.Second)/100 != i {
			t.Errorf("process %d: %v %v", i, d, err)
		}
		p.checkClocks(d)
		mustShift(t, p.pid, time.Duration(i)*time.Hour)
	}
	for i, p := range ps {
		p.checkClocks(time.Duration(i) * time.Hour)
	}
}

func TestContextEnds(t *testing.T) {
	p := startGo(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Shift(ctx, p.pid, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.checkClocks(0)
}
