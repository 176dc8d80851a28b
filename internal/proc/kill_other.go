//go:build !linux

package proc

import "os"

// KillDescent ends the process alone here: who descends from it is not known.
func KillDescent(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
