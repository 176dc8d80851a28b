package clients

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel kill the child when we are killed.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
