package clock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopTimeout bounds the wait for a process's threads to stop.
const stopTimeout = 2 * time.Second

// onTracer runs f on an operating system thread of its own that ends with f. Only the
// thread that attached to a tracee may speak to it, and when that thread ends the
// kernel releases every tracee that is still attached, whatever f left behind.
func onTracer(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: that is what ends the thread
		if unix.Gettid() == unix.Getpid() {
			// The main thread never ends before the process does, and would keep what f
			// left behind. While it is held here, no other goroutine can be on it.
			done <- onTracer(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

type threadState int

const (
	running threadState = iota
	halted              // in a ptrace stop
	parked              // asleep in the kernel, and will stop before it runs user code
	gone
)

type thread struct {
	tid    int
	state  threadState
	signal unix.Signal // that it was about to receive; given back on release
	at     blocked     // of a parked one
}

// stopped is a process all of whose threads are held.
type stopped struct {
	pid     int
	threads map[int]*thread
	since   time.Time
	// each thread must be halted: who speaks to it, or lets it go by hand, cannot do with one that is parked.
	halts bool
}

// stop halts every thread of pid. The caller, on a tracer thread, must call release
// even after an error. A group-stopped process stays so: PTRACE_SEIZE and INTERRUPT
// do not end a SIGSTOP, and a release puts each thread back into it.
func stop(ctx context.Context, pid int) (*stopped, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("not all threads stopped within %v", stopTimeout))
	defer cancel()
	s := &stopped{pid: pid, threads: map[int]*thread{}}
	// A thread that is not held yet can start another: list until none is new.
	for {
		fresh, err := s.seize(ctx)
		if err != nil {
			return s, err
		}
		if !fresh {
			return s, s.settled()
		}
		for _, t := range s.threads {
			if t.state == running && unix.PtraceInterrupt(t.tid) != nil {
				t.state = gone
			}
		}
		for _, t := range s.threads {
			if err := s.await(ctx, t); err != nil {
				return s, fmt.Errorf("thread %d (state %c): %w", t.tid, taskState(pid, t.tid), err)
			}
		}
	}
}

// seize attaches to the threads that it has not seen yet and tells whether there were any.
func (s *stopped) seize(ctx context.Context) (bool, error) {
	ids, err := threadIDs(s.pid)
	if err != nil {
		return false, explain(s.pid, err)
	}
	fresh := false
	for _, id := range ids {
		if s.threads[id] != nil {
			continue
		}
		if s.since.IsZero() {
			s.since = time.Now()
		}
		for {
			err := unix.PtraceSeize(id)
			if err == nil {
				s.threads[id] = &thread{tid: id}
				fresh = true
				break
			}
			if st := taskState(s.pid, id); st == 'Z' || st == 'X' {
				break // ended since the list was made
			}
			// A tracer of this process that has just returned may not have ended yet.
			if tr := tracer(id); !errors.Is(err, unix.EPERM) || tr == 0 || !ownThread(tr) {
				return false, explain(s.pid, fmt.Errorf("trace thread %d: %w", id, err))
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				return false, fmt.Errorf("trace thread %d: %w", id, err)
			}
		}
	}
	return fresh, nil
}

// ownThread reports whether tid is a thread of this very process.
func ownThread(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
	return err == nil
}

// await waits until thread t is halted, parked or gone; only until it is halted or gone if s.halts.
func (s *stopped) await(ctx context.Context, t *thread) error {
	for polls := 0; t.state == running; polls++ {
		switch sig, event, err := stopOf(t.tid); {
		case err != nil:
			t.state = gone
		case sig != 0:
			t.state = halted
			// A stop that ptrace itself made, or a group stop, withholds no signal.
			if !event {
				t.signal = sig
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case polls < 50:
			runtime.Gosched()
		default:
			// The state in /proc costs more than the stop of a runnable thread takes.
			if polls%16 == 0 {
				switch taskState(s.pid, t.tid) {
				case 'Z', 'X':
					t.state = gone
				case 'D':
					if !s.halts {
						s.park(t)
					}
				}
			}
			nap := unix.Timespec{Nsec: 20_000}
			_ = unix.Nanosleep(&nap, nil)
		}
	}
	return nil
}

// stopOf returns the signal with which tracee tid has stopped, 0 if it has not, and
// whether ptrace itself or a group stop was the reason. It leaves the status of an
// ended process for its parent: waitid, unlike wait4, can leave it.
func stopOf(tid int) (sig unix.Signal, event bool, err error) {
	var info unix.Siginfo
	for {
		err = unix.Waitid(unix.P_PID, tid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WALL|unix.WNOTHREAD, nil)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil || info.Signo == 0 {
		return 0, false, err
	}
	// si_status, at byte 24, is signal | ptrace event << 8.
	status := *(*int32)(unsafe.Add(unsafe.Pointer(&info), 24))
	return unix.Signal(status & 0xff), status>>8 == unix.PTRACE_EVENT_STOP, nil
}

// park accepts a thread in uninterruptible sleep (a parent in vfork, slow storage) as
// held: the pending interrupt stops it before its next user instruction. Not one that
// is making a new thread, which would appear unheld.
func (s *stopped) park(t *thread) {
	at, ok := blockedAt(s.pid, t.tid)
	if !ok {
		return
	}
	const cloneThread = 0x10000
	flags := at.arg0
	switch at.syscall {
	case unix.SYS_CLONE3: // the flags are the first word of what arg0 points to
		m, err := openMem(s.pid)
		if err != nil {
			return
		}
		defer m.Close()
		var b [8]byte
		if _, err := m.ReadAt(b[:], int64(at.arg0)); err != nil {
			return
		}
		flags = binary.LittleEndian.Uint64(b[:])
		fallthrough
	case unix.SYS_CLONE:
		if flags&cloneThread != 0 {
			return
		}
	}
	t.state, t.at = parked, at
}

// settled checks that what vanished during the stop was a thread and not, through
// exec, the identity of one that runs on.
func (s *stopped) settled() error {
	held := 0
	for _, t := range s.threads {
		if t.state != gone {
			held++
			continue
		}
		if st := taskState(s.pid, t.tid); st != 'Z' && st != 'X' {
			return errAgain
		}
	}
	if held == 0 {
		return fmt.Errorf("it has ended: %w", os.ErrProcessDone)
	}
	return nil
}

// release lets every thread go on, each with the signal that it was about to receive,
// and returns how long the process was held. Parked threads are let go by the kernel
// when the tracer thread ends.
func (s *stopped) release() time.Duration {
	for _, t := range s.threads {
		if t.state == halted {
			_, _, _ = unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(t.tid), 0, uintptr(t.signal), 0, 0)
		}
	}
	if s.since.IsZero() {
		return 0
	}
	return time.Since(s.since)
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
