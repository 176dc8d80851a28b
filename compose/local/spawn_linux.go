package local

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
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
	home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
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
		r.err <- startIn(r.cmd, r.space, home)
	}
}

func startIn(cmd *exec.Cmd, space string, home *os.File) error {
	f, err := os.Open(space)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	err = cmd.Start()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil && err == nil {
		err = fmt.Errorf("leave network namespace: %w", back)
	}
	return err
}

// start starts cmd in a process group of its own and returns a function that
// waits for its end.
func (s *spawner) start(cmd *exec.Cmd, space string) (func() error, error) {
	pidfd := -1
	attr := cmd.SysProcAttr // of a node that runs as another user
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setpgid, attr.Pdeathsig, attr.PidFD = true, syscall.SIGKILL, &pidfd
	cmd.SysProcAttr = attr
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
