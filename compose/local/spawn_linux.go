package local

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/internal/proc"
)

// spawner starts processes from one thread that stays for the cluster's life: a
// child inherits the thread's network namespace, and its parent-death signal
// follows that thread.
type spawner struct {
	requests chan request
	ended    chan struct{}
}

type request struct {
	cmd   *exec.Cmd
	space string
	err   chan error
}

func newSpawner() *spawner {
	adoptOrphans()
	s := &spawner{requests: make(chan request), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	defer close(s.ended)
	runtime.LockOSThread() // never unlocked: the thread changes its namespace
	home, err := proc.ThreadNetNS()
	if err == nil {
		defer home.Close()
	}
	for r := range s.requests {
		if r.space == "" {
			r.err <- r.cmd.Start()
			continue
		}
		if err != nil {
			r.err <- err
			continue
		}
		r.err <- proc.VisitNetNS(r.space, home, r.cmd.Start)
	}
}

// start starts cmd in a process group of its own and returns a function that
// waits for its end.
func (s *spawner) start(cmd *exec.Cmd, space string) (func() error, error) {
	pidfd := -1
	proc.DieWithParent(cmd)
	attr := cmd.SysProcAttr // a node that runs as another user has more in it
	attr.Setpgid, attr.PidFD = true, &pidfd
	r := request{cmd, space, make(chan error, 1)}
	s.requests <- r
	if err := <-r.err; err != nil {
		if attr.Cloneflags&syscall.CLONE_NEWUSER != 0 {
			err = fmt.Errorf("give it a user id other than 0: %w (run picklock as an ordinary user where the kernel or container forbids user namespaces)", err)
		}
		return nil, err
	}
	return func() error { return await(cmd, pidfd) }, nil
}

// await waits for the process's end without waiting for the process: wait4 and
// waitid in any thread of the parent would take a ptrace stop away from the thread
// that shifts the child's clock. A pidfd becomes readable at the end only.
func await(cmd *exec.Cmd, pidfd int) error {
	if pidfd >= 0 {
		defer unix.Close(pidfd)
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
			if err != unix.EINTR {
				break
			}
		}
	}
	return cmd.Wait()
}

func (s *spawner) close() {
	close(s.requests)
	<-s.ended
}
