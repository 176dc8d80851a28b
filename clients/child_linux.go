package clients

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel kill the child when we are killed.
func dieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
