package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// AtRest says that no thread of a process, or of what belongs to it (see Tree), runs, waits for
// a processor, or for a disk: all of them wait for others, for a time, or were stopped. stopped
// says that all of them were.
func AtRest(pid int) (rest, stopped bool, err error) {
	tree, err := Tree(pid)
	if err != nil {
		return false, false, err
	}
	stopped = len(tree) > 0
	for _, p := range tree {
		if p.Ended() {
			continue
		}
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.PID))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended since
		}
		if err != nil {
			return false, false, fmt.Errorf("list the threads of process %d: %w", p.PID, err)
		}
		for _, t := range threads {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", p.PID, t.Name()))
			if err != nil {
				continue // it has ended since
			}
			th, ok := parseStat(text)
			switch {
			case !ok || th.Ended():
			case th.Stopped():
			case th.State == 'S' || th.State == 'I':
				stopped = false
			default:
				return false, false, nil
			}
		}
	}
	return true, stopped, nil
}
