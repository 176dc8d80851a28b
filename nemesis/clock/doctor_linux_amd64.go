package clock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tries is how often a machine that was too busy is asked again.
const tries = 5

// works: it has worked, and need not be tried again while a fault waits for that.
var works atomic.Bool

// supported says whether this machine can set a process's clock. One that cannot says so
// at once; one that took too long was busy, which is no answer.
func supported() error {
	if works.Load() {
		return nil
	}
	for try := 1; ; try++ {
		began := time.Now()
		err := tryOnAChild()
		if err == nil {
			works.Store(true)
		}
		if err == nil || time.Since(began) < stopTimeout || try == tries {
			return err
		}
	}
}

// tryOnAChild sets the clock of a copy of this program that never gets to run: it is
// held at its first instruction, patched there, made to call the patched functions
// and killed. So it needs no other program, which a FROM scratch image has none of.
func tryOnAChild() error {
	return onTracer(func() (err error) {
		child := exec.Command("/proc/self/exe")
		child.Env = []string{}
		// The child stops right after its exec. It dies with this thread at the latest.
		child.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
		if err := child.Start(); err != nil {
			return fmt.Errorf("start a child to try it on: %w", err)
		}
		defer func() {
			_ = child.Process.Kill()
			_ = child.Wait()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		pid := child.Process.Pid
		// While its program is read from the disk, it sleeps in the kernel.
		t := &stopped{pid: pid, threads: map[int]*thread{pid: {tid: pid}}, halts: true}
		if err := t.await(ctx, t.threads[pid]); err != nil {
			return fmt.Errorf("wait for the child to try it on: %w", err)
		}
		// Release it into a group stop, from which Shift must not wake it.
		t.threads[pid].signal = unix.SIGSTOP
		t.release()

		// A clock that has been fast for a while: all of the hook's arithmetic is in it.
		want := Setting{Offset: 1_000_000*time.Second + 900*time.Millisecond, Rate: 1.5}
		at := Now() - int64(time.Minute)
		if _, err := Set(ctx, pid, want, at); err != nil {
			return err
		}
		if got, err := Read(pid, at); err != nil {
			return err
		} else if got != want {
			return fmt.Errorf("read back the setting %+v instead of %+v", got, want)
		}
		s, err := stop(ctx, pid)
		if err != nil {
			return err
		}
		p, err := openProcess(pid)
		if err != nil {
			return err
		}
		defer p.close()
		for _, c := range []struct {
			id int32
			to Setting
		}{{unix.CLOCK_REALTIME, want}, {unix.CLOCK_MONOTONIC, Setting{}}} {
			before := now(c.id)
			got, err := p.callClock(ctx, s.threads[pid], c.id)
			if err != nil {
				return fmt.Errorf("call the patched function: %w", err)
			}
			wrong := func(t time.Duration) time.Duration {
				return t + c.to.slot(at).setting(int64(t)).Offset
			}
			if after := now(c.id); got < wrong(before) || got > wrong(after) {
				return fmt.Errorf("the patched clock %d is %v ahead instead of %v", c.id, got-before, wrong(before)-before)
			}
		}
		return nil
	})
}

// now reads a clock by system call.
func now(id int32) time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(id, &ts)
	return time.Duration(ts.Nano())
}

// callClock makes halted thread t call clock_gettime(id) and returns the result. The
// thread's registers are lost: only for a child that will not run on.
func (p *process) callClock(ctx context.Context, t *thread, id int32) (time.Duration, error) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
		return 0, err
	}
	// Below the red zone: the result, 16 bytes, and under it the return address 0,
	// at which the thread faults and so reports back.
	result := regs.Rsp&^0xff - 0x400
	regs.Rsp = result - 8
	if _, err := p.mem.WriteAt(make([]byte, 24), int64(regs.Rsp)); err != nil {
		return 0, err
	}
	regs.Rip = p.v.base + uint64(p.v.funcs[clockGettime].offset)
	regs.Rdi, regs.Rsi = uint64(id), result
	regs.Orig_rax = ^uint64(0) // no system call to restart
	if err := unix.PtraceSetRegs(t.tid, &regs); err != nil {
		return 0, err
	}
	// A thread that was in a group stop reports it once more before it runs.
	for again := true; again; again = t.state == halted && t.signal == 0 {
		if err := unix.PtraceCont(t.tid, 0); err != nil {
			return 0, err
		}
		t.state = running
		if err := (&stopped{pid: p.pid, halts: true}).await(ctx, t); err != nil {
			return 0, err
		}
	}
	if t.state != halted {
		return 0, errors.New("the child died")
	}
	if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
		return 0, err
	}
	if t.signal != unix.SIGSEGV || regs.Rip != 0 || uint32(regs.Rax) != 0 {
		return 0, fmt.Errorf("it ended at %#x with %v, result %d", regs.Rip, t.signal, int32(regs.Rax))
	}
	b := make([]byte, 16)
	if _, err := p.mem.ReadAt(b, int64(result)); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	return time.Duration(le.Uint64(b))*time.Second + time.Duration(le.Uint64(b[8:])), nil
}
