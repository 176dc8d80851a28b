package clock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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
	if _, err := shift(ctx, p.pid, time.Hour); err == nil || !strings.Contains(err.Error(), "handles a signal") || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("shifted while the handler could not return: %v", err)
	}
	mustRead(t, p.pid, 0)

	done := make(chan Report)
	go func() {
		r, err := shift(context.Background(), p.pid, time.Hour)
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
	p.send("clocks") // answered when it is woken
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
			_, err = shift(context.Background(), p.pid, time.Hour)
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

// inVfork starts a process with a thread that waits in the kernel for its vfork child.
func inVfork(t *testing.T) (p *target, tid int) {
	p = startGo(t)
	tid, err := strconv.Atoi(p.ask("vfork"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "uninterruptible", func() bool { return taskState(p.pid, tid) == 'D' })
	return p, tid
}

// A thread that waits for its vfork child cannot stop, and must not be waited for.
func TestThreadInVfork(t *testing.T) {
	p, tid := inVfork(t)
	r := mustShift(t, p.pid, time.Hour)
	if s := taskState(p.pid, tid); s != 'D' || !r.Installed {
		t.Errorf("state %c, %+v", s, r)
	}
	p.expect("vfork done")
	p.checkClocks(time.Hour)
}

// Who has to speak to a thread waits until it has stopped, also if it sleeps in the kernel first, as a process does whose program is read from the disk.
func TestHaltsAfterVfork(t *testing.T) {
	p, tid := inVfork(t)
	err := onTracer(func() error {
		if err := unix.PtraceSeize(tid); err != nil {
			return err
		}
		if err := unix.PtraceInterrupt(tid); err != nil {
			return err
		}
		th := &thread{tid: tid}
		s := &stopped{pid: p.pid, threads: map[int]*thread{tid: th}, halts: true}
		defer s.release()
		if err := s.await(context.Background(), th); err != nil {
			return err
		}
		if th.state != halted {
			t.Errorf("state %v, want %v", th.state, halted)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.expect("vfork done")
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
					if _, err := shift(context.Background(), p.pid, time.Duration(100*i+10*k+n)*time.Second); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i, p := range ps {
		d, err := offset(p.pid)
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
