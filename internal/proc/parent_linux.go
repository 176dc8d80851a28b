package proc

import (
	"os/exec"
	"syscall"
)

// DieWithParent has the kernel kill (SIGKILL) the process that cmd will start when
// the thread that starts it ends, and so when this process does, however it ends. The
// goroutine that calls cmd.Start has to stay locked to its thread
// (runtime.LockOSThread) as long as the child is to live.
func DieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
