package clock

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// target is a running process that answers lines.
type target struct {
	t     *testing.T
	pid   int
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	ended chan struct{} // closed after Wait
	err   error         // Wait's
}

// startTarget runs a program that prints "ready" when it is.
func startTarget(t *testing.T, name string, args ...string) *target {
	t.Helper()
	p := &target{t: t, cmd: exec.Command(name, args...), lines: make(chan string, 16), ended: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = p.cmd.Process.Pid
	go func() {
		defer close(p.ended)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			p.lines <- sc.Text()
		}
		close(p.lines)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	p.expect("ready")
	return p
}

func (p *target) kill() {
	_ = p.cmd.Process.Kill()
	for range p.lines {
	}
	<-p.ended
}

func (p *target) line() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			<-p.ended
			p.t.Fatalf("the target died: %v", p.err)
		}
		return l
	case <-time.After(30 * time.Second):
		p.t.Fatalf("no answer (state %c)", taskState(p.pid, p.pid))
	}
	return ""
}

func (p *target) expect(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Fatalf("the target said %q instead of %q", got, want)
	}
}

func (p *target) send(cmd string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, cmd); err != nil {
		p.t.Fatal(err)
	}
}

func (p *target) ask(cmd string) string {
	p.t.Helper()
	p.send(cmd)
	return p.line()
}

var buildGo = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "picklock-clock-target-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "target")
	c := exec.Command("go", "build", "-o", bin, "./testdata/target")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

func startGo(t *testing.T, args ...string) *target {
	t.Helper()
	bin, err := buildGo()
	if err != nil {
		t.Fatal(err)
	}
	return startTarget(t, bin, args...)
}

// checkClocks asks the Go target for its clocks; every shifted one must lie between
// two true readings plus the offset, every other one between the bare readings.
func (p *target) checkClocks(offset time.Duration) {
	p.t.Helper()
	p.send("clocks")
	p.checkAnswer(p.line(), offset)
}

func (p *target) checkAnswer(line string, offset time.Duration) {
	p.t.Helper()
	p.checkSetting(line, Setting{Offset: offset}, 0)
}

// checkSetting is checkAnswer for any setting but a strobe, counted from at.
func (p *target) checkSetting(line string, to Setting, at int64) {
	p.t.Helper()
	var got map[string]struct{ Before, Value, After int64 }
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		p.t.Fatalf("%v: %s", err, line)
	}
	shifted := map[string]bool{"time.Now": true, "gettimeofday": true, "gettimeofday and zone": true, "time": true, "REALTIME": true, "REALTIME_COARSE": true, "REALTIME_ALARM": true, "TAI": true}
	if len(got) < 12 {
		p.t.Fatalf("%d clocks: %s", len(got), line)
	}
	for name, r := range got {
		wrong, unit := func(t int64) int64 { return t }, int64(1)
		if shifted[name] {
			wrong = func(t int64) int64 { return t + int64(to.slot(at).setting(t).Offset) }
		}
		switch name {
		case "gettimeofday", "gettimeofday and zone":
			unit = 1000
		case "time":
			unit = int64(time.Second)
		}
		floor := func(t int64) int64 { return t - (t%unit+unit)%unit } // before 1970, too
		lo, hi := floor(wrong(r.Before)), floor(wrong(r.After))
		if r.Value < lo || r.Value > hi {
			p.t.Errorf("%+v: %s is off by %v", to, name, time.Duration(r.Value-lo))
		}
	}
}

// shift sets a process's clock that far ahead.
func shift(ctx context.Context, pid int, d time.Duration) (Report, error) {
	return Set(ctx, pid, Setting{Offset: d}, 0)
}

// offset is how far a process's clock is ahead.
func offset(pid int) (time.Duration, error) {
	s, err := Read(pid, 0)
	return s.Offset, err
}

func mustShift(t *testing.T, pid int, d time.Duration) Report {
	t.Helper()
	r, err := shift(context.Background(), pid, d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustRead(t *testing.T, pid int, want time.Duration) {
	t.Helper()
	if got, err := offset(pid); err != nil || got != want {
		t.Fatalf("Read: %v, %v; want %v", got, err, want)
	}
}

// unhook takes the hook's jumps out again, so that a process can be hooked anew.
func unhook(t *testing.T, pid int, names ...string) {
	t.Helper()
	if err := tryUnhook(pid, names...); err != nil {
		t.Fatal("unhook:", err)
	}
}

func tryUnhook(pid int, names ...string) error {
	return onTracer(func() error {
		s, err := stop(context.Background(), pid)
		defer s.release()
		if err != nil {
			return err
		}
		p, err := openProcess(pid)
		if err != nil {
			return err
		}
		defer p.close()
		r := p.v.region()
		for i, n := range hooked {
			f, ok := p.v.funcs[n]
			if !ok || len(names) > 0 && !slices.Contains(names, n) {
				continue
			}
			if _, err := p.mem.WriteAt(r[regionOrig+8*i:][:jumpLen], int64(p.v.base)+int64(f.offset)); err != nil {
				return err
			}
		}
		return nil
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never happened: " + what)
		}
	}
}

// allIn tells whether every thread of pid is in the given state.
func allIn(pid int, state byte) bool {
	ids, err := threadIDs(pid)
	if err != nil {
		return false
	}
	for _, id := range ids {
		if taskState(pid, id) != state {
			return false
		}
	}
	return true
}

// stepTo leaves thread tid of pid at the first instruction of func name that is inside
// the bytes to be patched, or with inHandler in a handler for a signal that came
// there, and the whole process in a group stop. False if there is no such instruction.
func stepTo(t *testing.T, pid, tid int, name string, inHandler bool) bool {
	t.Helper()
	p, err := openProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	insts, err := displaced(p.v, name)
	if err != nil {
		t.Fatal(err)
	}
	if len(insts) < 2 {
		return false
	}
	at := p.v.base + uint64(p.v.funcs[name].offset+insts[1].offset)
	err = onTracer(func() error {
		s := &stopped{pid: pid, threads: map[int]*thread{tid: {tid: tid}}}
		th := s.threads[tid]
		defer s.release()
		if err := errors.Join(unix.PtraceSeize(tid), unix.PtraceInterrupt(tid), s.await(context.Background(), th)); err != nil {
			return err
		}
		step := func(sig unix.Signal) (uint64, error) {
			th.state = running
			if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SINGLESTEP, uintptr(tid), 0, uintptr(sig), 0, 0); e != 0 {
				return 0, e
			}
			var regs unix.PtraceRegs
			err := errors.Join(s.await(context.Background(), th), unix.PtraceGetRegs(tid, &regs))
			return regs.Rip, err
		}
		for range 100_000 {
			pc, err := step(0)
			if err != nil {
				return err
			}
			if pc != at {
				continue
			}
			if inHandler {
				if pc, err = step(unix.SIGURG); err != nil || pc == at {
					return fmt.Errorf("did not enter the handler: %#x %w", pc, err)
				}
			}
			th.signal = 0 // the single step's own SIGTRAP
			return unix.Tgkill(pid, tid, unix.SIGSTOP)
		}
		return errors.New("never came to " + name)
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "group stop", func() bool { return allIn(pid, 'T') })
	return true
}

func (p *target) spin(name string) int {
	p.t.Helper()
	tid, err := strconv.Atoi(strings.TrimSpace(p.ask("spin " + name)))
	if err != nil {
		p.t.Fatal(err)
	}
	return tid
}
