package postgres

import (
	"os"
	"os/exec"
	"syscall"
)

// inNamespaces makes cmd the first process of a PID namespace, under another user id
// than 0.
func inNamespaces(cmd *exec.Cmd) {
	const id = 1000
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getgid(), Size: 1}},
	}
}
