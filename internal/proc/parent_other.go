//go:build !linux

package proc

import "os/exec"

// DieWithParent does nothing here: a child whose standard input ends is to end by itself.
func DieWithParent(*exec.Cmd) {}
