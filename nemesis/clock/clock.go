// Package clock makes the wall clock of one running process, and of no other, wrong: ahead
// or behind, fast or slow, or jumping to and fro.
//
// It patches the process's own copy of the vDSO, the kernel's code page through
// which C libraries, the Go runtime and the JVM read the time: the entry of each
// clock function gets a jump to a shim that calls the original and computes the wrong
// time from the true one. Patching stops the process once, for about a millisecond; each
// later setting is written while the process runs on.
//
// The package knows processes, ptrace and x86-64 code. It does not depend on nodes,
// faults or schedules; the nemesis decides whose clock goes wrong and when.
//
// Not reached: clock system calls made without the vDSO, kernel waits with an
// absolute CLOCK_REALTIME deadline, file times, rdtsc. docs/internals/clock.md has the list.
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

const (
	maxOffset = (1<<31 - 1) * time.Second
	// maxRate bounds rates, which are at least 1/maxRate.
	maxRate = 100
)

// strobeShift is the bit of the true time in ns that says whether a strobing clock has
// jumped.
const strobeShift = 22

// StrobeEvery is how often a strobing clock jumps: every 2^22 ns, about 4.2 ms.
const StrobeEvery = time.Duration(1) << strobeShift

// Setting is how far a process's clock is off. The zero Setting is the right clock.
type Setting struct {
	// Offset is how far it is ahead of the true time, or behind if negative: when it is
	// set, or when it was read. It is cut to whole microseconds.
	Offset time.Duration
	// Rate is how many seconds it counts in a true one from then on; 0 is 1, too.
	Rate float64
	// Strobe is added to it and taken away again, by turns every StrobeEvery; all
	// processes' at the same instants.
	Strobe time.Duration
}

// Right says whether it is the true time and stays so.
func (s Setting) Right() bool { return s.Offset == 0 && (s.Rate == 0 || s.Rate == 1) && s.Strobe == 0 }

// Check says what is wrong with a setting.
func (s Setting) Check() error {
	switch {
	case s.Offset > maxOffset || s.Offset < -maxOffset:
		return fmt.Errorf("offset %v is beyond 68 years", s.Offset)
	case s.Strobe > maxOffset || s.Strobe < -maxOffset:
		return fmt.Errorf("strobe %v is beyond 68 years", s.Strobe)
	case s.Rate != 0 && !(s.Rate >= 1./maxRate && s.Rate <= maxRate):
		return fmt.Errorf("rate %v is not between %v and %v", s.Rate, 1./maxRate, maxRate)
	}
	return nil
}

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

// Set makes process pid's CLOCK_REALTIME (also COARSE, ALARM, TAI, gettimeofday and time)
// go as the setting says, counted from the true time: settings are absolute, not
// cumulative. CLOCK_MONOTONIC and BOOTTIME stay true. The zero Setting heals, and leaves
// the hook in place. At is when that begins, in ns since 1970 of the true time, which may
// be past: processes that are set one after the other with one At have one clock. 0 is now.
//
// The first setting of a process installs the hook. A process stopped by SIGSTOP stays
// stopped. Children forked later inherit hook and setting, and are then on their own;
// exec forgets both. Calls for different processes run in parallel.
//
// The error wraps os.ErrProcessDone if the process has ended, os.ErrPermission if
// the caller may not trace it, ErrUnsupported if the process cannot be patched.
// After an error from the first setting the clock is right.
func Set(ctx context.Context, pid int, to Setting, at int64) (Report, error) {
	if err := to.Check(); err != nil {
		return Report{}, fmt.Errorf("set the clock of process %d: %w", pid, err)
	}
	if at == 0 {
		at = Now()
	}
	to.Offset, to.Strobe = to.Offset.Truncate(time.Microsecond), to.Strobe.Truncate(time.Microsecond)
	r, err := set(ctx, pid, to.slot(at))
	if err != nil {
		return Report{}, fmt.Errorf("set the clock of process %d: %w", pid, err)
	}
	return r, nil
}

// Now is the true time in ns since 1970, as far as this process's own clock is.
func Now() int64 { return time.Now().UnixNano() }

// Read returns how process pid's clock is set at the true time at (0 is now), by reading
// it back from the process's memory: the right clock if it was never set. It does not stop
// the process.
func Read(pid int, at int64) (Setting, error) {
	s, err := read(pid)
	if err != nil {
		return Setting{}, fmt.Errorf("read how the clock of process %d is set: %w", pid, err)
	}
	if at == 0 {
		at = Now()
	}
	return s.setting(at), nil
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
