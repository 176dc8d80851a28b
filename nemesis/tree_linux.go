package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/nemesis/clock"
)

func treePIDs(pid int) ([]int, error) {
	tree, err := proc.Living(pid)
	pids := make([]int, len(tree))
	for i, p := range tree {
		pids[i] = p.PID
	}
	return pids, err
}

// signalOthers sends a signal to the processes of a node that are not in the group of
// its first one: again and again until there is none that was made meanwhile by one that
// had not been reached yet.
func signalOthers(pid int, sig syscall.Signal) error {
	reached := map[int]bool{}
	const rounds = 100 // a fork bomb is faster than we are
	for range rounds {
		tree, err := proc.Living(pid)
		if errors.Is(err, os.ErrProcessDone) {
			return nil // the group had been reached
		}
		if err != nil {
			return err
		}
		more := false
		for _, r := range tree {
			if r.Group == pid || reached[r.PID] {
				continue
			}
			if err := syscall.Kill(r.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			reached[r.PID], more = true, true
		}
		if !more {
			return nil
		}
	}
	return errors.New("it makes new processes faster than they can be signalled")
}

// shiftAll sets the clocks of all processes of a node and returns which they were, also
// after an error. A process inherits the clock of the one that makes it, and then has
// one of its own: so the members are listed again until there is none whose clock was
// not set. Those that are made later are the children of one that had it.
func shiftAll(ctx context.Context, offset time.Duration, members func() ([]int, error)) (shifted []int, err error) {
	for {
		pids, err := members()
		if err != nil {
			return shifted, err
		}
		more, alive := false, false
		for _, pid := range pids {
			if slices.Contains(shifted, pid) {
				alive = true
				continue
			}
			switch _, err := clock.Shift(ctx, pid, offset); {
			case err == nil:
				alive = true
			case !errors.Is(err, os.ErrProcessDone):
				return shifted, err
			}
			shifted, more = append(shifted, pid), true
		}
		if !alive {
			return shifted, fmt.Errorf("shift the clock: %w", os.ErrProcessDone)
		}
		if !more {
			return shifted, nil
		}
	}
}

// commonOffset reads the clock that all of these processes have. Where they differ,
// which must not be, it says so.
func commonOffset(pids []int) (time.Duration, error) {
	var offset time.Duration
	var seen []string
	differ := false
	for _, pid := range pids {
		got, err := clock.Read(pid)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return 0, err
		}
		differ = differ || len(seen) > 0 && got != offset
		offset, seen = got, append(seen, got.String())
	}
	switch {
	case len(seen) == 0:
		return 0, fmt.Errorf("read the clock: %w", os.ErrProcessDone)
	case differ:
		return 0, fmt.Errorf("the processes of one node have clocks of their own: %s", strings.Join(seen, ", "))
	}
	return offset, nil
}
