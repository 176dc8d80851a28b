//go:build !linux

package compose

import (
	"bytes"
	"fmt"
	"os/exec"
)

// processes lists all processes that there are.
func processes() ([]Relative, error) {
	text, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var out []Relative
	for line := range bytes.Lines(text) {
		var r Relative
		var state string
		if _, err := fmt.Sscan(string(line), &r.PID, &r.parent, &r.Group, &state); err == nil {
			r.State = state[0]
			out = append(out, r)
		}
	}
	return out, nil
}
