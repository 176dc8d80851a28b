package local

import (
	"os"
	"os/exec"
	"syscall"
)

// asUser has cmd run under the user id where it would run under 0: in a user namespace
// in which this process's user has that number. That needs no right to be another user and
// does not change who owns the files. A server's shared memory goes with it.
func asUser(cmd *exec.Cmd, id int) {
	if id == 0 || os.Getuid() != 0 {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getgid(), Size: 1}},
	}
}
