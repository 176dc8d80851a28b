//go:build !linux

package proc

import (
	"bytes"
	"fmt"
	"os/exec"
)

// List lists all processes that there are.
func List() ([]Process, error) {
	text, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var out []Process
	for line := range bytes.Lines(text) {
		var p Process
		var state string
		if _, err := fmt.Sscan(string(line), &p.PID, &p.Parent, &p.Group, &state); err == nil {
			p.State = state[0]
			out = append(out, p)
		}
	}
	return out, nil
}

// Find looks one process up; false says that there is none of that id.
func Find(pid int) (Process, bool) {
	all, err := List()
	if err != nil {
		return Process{}, false
	}
	for _, p := range all {
		if p.PID == pid {
			return p, true
		}
	}
	return Process{}, false
}

// threads is the process itself: ps gives one state for all of its threads.
func threads(p Process) ([]Process, error) { return []Process{p}, nil }
