package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

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
	const rounds = 100 // a fork bomb is faster
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

// setClocks sets the clocks of all processes of a node, to one and the same, and returns
// which they were, also after an error. A process inherits the clock of the one that makes
// it, and then has one of its own: so the members are listed again until there is none
// whose clock was not set. Those that are made later are the children of one that had it.
func setClocks(ctx context.Context, to clock.Setting, members func() ([]int, error)) (done []int, err error) {
	at := clock.Now()
	for {
		pids, err := members()
		if err != nil {
			return done, err
		}
		more, alive := false, false
		for _, pid := range pids {
			if slices.Contains(done, pid) {
				alive = true
				continue
			}
			switch _, err := clock.Set(ctx, pid, to, at); {
			case err == nil:
				alive = true
			case !errors.Is(err, os.ErrProcessDone):
				return done, err
			}
			done, more = append(done, pid), true
		}
		if !alive {
			return done, fmt.Errorf("set the clock: %w", os.ErrProcessDone)
		}
		if !more {
			return done, nil
		}
	}
}

// commonClock reads the clock that all of these processes have. It is an error if they differ.
func commonClock(pids []int) (clock.Setting, error) {
	var common clock.Setting
	var seen []string
	differ := false
	at := clock.Now()
	for _, pid := range pids {
		got, err := clock.Read(pid, at)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return clock.Setting{}, err
		}
		differ = differ || len(seen) > 0 && got != common
		common, seen = got, append(seen, wrongness(got))
	}
	switch {
	case len(seen) == 0:
		return clock.Setting{}, fmt.Errorf("read the clock: %w", os.ErrProcessDone)
	case differ:
		return clock.Setting{}, fmt.Errorf("the processes of one node have clocks of their own: %s", strings.Join(seen, ", "))
	}
	return common, nil
}
