// Package clock shifts the wall clock of one running process and of no other.
//
// It patches the process's own copy of the vDSO, the kernel's code page through
// which C libraries, the Go runtime and the JVM read the time: the entry of each
// clock function gets a jump to a shim that calls the original and adds an offset.
// Patching stops the process once, for about a millisecond; each later change of the
// offset is one byte written while the process runs on.
//
// The package knows processes, ptrace and x86-64 code. It must not know nodes,
// faults or schedules; the nemesis decides whose clock goes wrong and when.
//
// Not reached: clock system calls made without the vDSO, kernel waits with an
// absolute CLOCK_REALTIME deadline, file times, rdtsc. docs/clock.md has the list.
package clock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnsupported is wrapped by the errors that say why this machine, or the given
// process (a 32-bit one, say), cannot have its clock shifted at all.
var ErrUnsupported = errors.New("cannot shift a process's clock")

// maxOffset is what a slot's 32-bit seconds hold, a little over 68 years.
const maxOffset = (1<<31 - 1) * time.Second

// Report says what one Shift did to the process.
type Report struct {
	// Installed is true when this call patched the process. The other fields are
	// zero otherwise: a process that has the hook is not stopped again.
	Installed bool
	// Stopped is how long the process stood still, from the first thread's stop to
	// the last one's release, in the attempt that patched it.
	Stopped time.Duration
	// Threads is the number of threads that were held.
	Threads int
	// Moved is the number of threads that stood on the replaced instructions and
	// now continue on their copies.
	Moved int
	// Retries counts the attempts given up, each with the process released again,
	// because a signal handler was about to return into the replaced instructions
	// or the process changed its shape (exec) meanwhile.
	Retries int
}

// Shift makes process pid read CLOCK_REALTIME (also COARSE, ALARM, TAI,
// gettimeofday and time) offset ahead of the true time, or behind it if negative.
// CLOCK_MONOTONIC and BOOTTIME stay true. Offsets are absolute, not cumulative: 0
// heals, and leaves the hook in place. They are cut to whole microseconds, so that
// gettimeofday and clock_gettime never disagree.
//
// The first shift of a process installs the hook. A process stopped by SIGSTOP stays
// stopped. Children forked later inherit hook and offset, and are then on their own;
// exec forgets both. Calls for different processes run in parallel.
//
// The error wraps os.ErrProcessDone if the process has ended, os.ErrPermission if
// the caller may not trace it, ErrUnsupported if the process cannot be patched.
// After an error from the first shift the clock is unshifted.
func Shift(ctx context.Context, pid int, offset time.Duration) (Report, error) {
	if offset > maxOffset || offset < -maxOffset {
		return Report{}, fmt.Errorf("shift the clock of process %d: offset %v is beyond 68 years", pid, offset)
	}
	r, err := shift(ctx, pid, offset.Truncate(time.Microsecond))
	if err != nil {
		return Report{}, fmt.Errorf("shift the clock of process %d: %w", pid, err)
	}
	return r, nil
}

// Read returns how far ahead the clock of process pid is set now, by reading it back
// from the process's memory: 0 if it was never shifted. It does not stop the process.
func Read(pid int) (time.Duration, error) {
	d, err := read(pid)
	if err != nil {
		return 0, fmt.Errorf("read the clock offset of process %d: %w", pid, err)
	}
	return d, nil
}

// Supported returns nil if Shift works on this machine, else an error that wraps
// ErrUnsupported and names the reason. It tries the whole thing on a child of its
// own, which is held before its first instruction and killed afterwards; the child's
// patched functions are called and must return the shifted time.
func Supported() error {
	if err := supported(); err != nil {
		if errors.Is(err, ErrUnsupported) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}
