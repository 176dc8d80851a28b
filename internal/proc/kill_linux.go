package proc

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// KillDescent ends a process and all that descend from it (SIGKILL). It stops them first:
// none may make another while the others are looked for, nor live on as an orphan. Those whose
// parent has ended before are not found.
func KillDescent(pid int) error {
	held := map[int]int{} // a descriptor each, so that a number that is used again is not meant
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd) // it was only looked through
		}
	}()
	const rounds = 50 // a fork bomb is faster than we are
	for range rounds {
		fresh, err := stopNew(pid, held)
		if err != nil {
			return err
		}
		if !fresh {
			break
		}
	}
	var all []error
	for p, fd := range held {
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			all = append(all, fmt.Errorf("kill process %d: %w", p, err))
		}
	}
	return errors.Join(all...)
}

// stopNew stops the processes of the tree that are not held yet, and says whether there were
// any, or any that were still on their way into the stop.
func stopNew(pid int, held map[int]int) (fresh bool, err error) {
	tree, err := descent(pid)
	if err != nil {
		return false, err
	}
	for _, p := range tree {
		if _, ok := held[p.PID]; ok {
			fresh = fresh || !p.Stopped() && !p.Ended()
			continue
		}
		fd, err := unix.PidfdOpen(p.PID, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("hold process %d: %w", p.PID, err)
		}
		// The number may have been given to another since the look.
		now, err := descent(pid)
		if err != nil || !slices.ContainsFunc(now, func(q Process) bool { return q.PID == p.PID }) {
			_ = unix.Close(fd)
			if err != nil {
				return false, err
			}
			continue
		}
		held[p.PID], fresh = fd, true
		if err := unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return false, fmt.Errorf("stop process %d: %w", p.PID, err)
		}
	}
	return fresh, nil
}

// descent lists a process and all that descend from it.
func descent(pid int) ([]Process, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	var out []Process
	in := map[int]bool{}
	for more := true; more; { // a child may be listed before its parent
		more = false
		for _, p := range all {
			if !in[p.PID] && (p.PID == pid || in[p.Parent]) {
				in[p.PID], more = true, true
				out = append(out, p)
			}
		}
	}
	return out, nil
}
