package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/compose/forward"
	"github.com/picklock/picklock/internal/proc"
)

// Enter moves the program into namespaces of its own by running it again inside
// them. In the process that the user started it waits for the inner one, passes
// signals on to it and returns its exit code with done true: there is nothing
// left to do but to exit. In the inner process, and where namespaces cannot be
// had, it returns the sandbox and done false.
//
// The inner process is the first of its PID namespace: when it ends, the kernel
// ends every process of the run, and with the last of them go the interfaces and
// mounts. It ends with the outer one by PR_SET_PDEATHSIG.
func Enter() (sandbox *Sandbox, code int, done bool) {
	switch os.Getenv(sandboxEnv) {
	case "":
	case "loopback":
		return &Sandbox{Why: "asked for by " + sandboxEnv + "=loopback"}, 0, false
	default:
		if !isInner() {
			fmt.Fprintf(os.Stderr, "picklock: %s is %.40q: unset it, or set it to loopback to run without namespaces\n", sandboxEnv, os.Getenv(sandboxEnv))
			return nil, usage, true
		}
		return inner()
	}
	code, err := reexec()
	if err != nil {
		return &Sandbox{Why: err.Error()}, 0, false
	}
	return nil, code, true
}

// statusFD is the inner process's end of the pipe over which it says whether all is prepared.
const statusFD = 3

// outsideFD is the inner process's end of the socket over which the outer one dials for it.
const outsideFD = 4

// usage is the exit code of unusable arguments.
const usage = 254

// The exit codes of a program that Go ends by a panic, and of an inner process that ends with the same code by its own
// will: a crash of picklock must not look like a verdict.
const (
	panicked = 2
	meansTwo = 102
	failed   = 255
)

// inside says that this process is an inner one.
var inside bool

// ExitCode is what a program that Enter may have run again exits with to have the outer process exit with code.
func ExitCode(code int) int {
	if inside && code == panicked {
		return meansTwo
	}
	return code
}

// isInner says whether this is the process that reexec has started: the first of its PID
// namespace, with reexec's pipe and socket. The environment alone proves nothing, and what
// follows would change the mounts of a process that has set it.
func isInner() bool {
	return os.Getenv(sandboxEnv) == "inner" && os.Getpid() == 1 && isOf(statusFD, unix.S_IFIFO) && isOf(outsideFD, unix.S_IFSOCK)
}

// isOf says whether a descriptor is open, and of this kind.
func isOf(fd int, kind uint32) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == kind
}

// inner prepares the new namespaces and reports over statusFD to the outer process
// whether that worked.
func inner() (*Sandbox, int, bool) {
	status := os.NewFile(statusFD, "status")
	if err := prepare(); err != nil {
		fmt.Fprint(status, err)
		status.Close()
		return nil, failed, true
	}
	fmt.Fprint(status, "ok")
	status.Close()
	inside = true
	// Programs that the sandbox starts are not sandboxes themselves, and only those that
	// are given the outside socket have it.
	os.Unsetenv(sandboxEnv)
	unix.CloseOnExec(outsideFD)
	return &Sandbox{Isolated: true, outside: os.NewFile(outsideFD, "outside")}, 0, false
}

func prepare() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Process ids are those of the new PID namespace, so /proc must show it too.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback interface: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}

// reexec runs this program in new namespaces and returns its exit code. An error
// means that the namespaces could not be made and that nothing was run.
func reexec() (int, error) {
	signals := make(chan os.Signal, 8) // before anything else: an earlier signal would not be passed on
	signal.Notify(signals, append(proc.Interrupts(), syscall.SIGQUIT)...)
	defer signal.Stop(signals)
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find picklock's own program: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	inside, outside, err := forward.Pair()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), sandboxEnv+"=inner")
	cmd.ExtraFiles = []*os.File{w, inside} // statusFD and outsideFD
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		// A group of its own: Ctrl-C reaches the outer process only, which passes
		// it on once.
		Setpgid: true,
	}
	if !hasCap(unix.CAP_SYS_ADMIN) {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	type outcome struct {
		code int
		err  error
	}
	result := make(chan outcome, 1)
	started := make(chan error, 1)
	go func() {
		// The parent-death signal follows the thread that started the child, so
		// that thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			result <- outcome{failed, err}
			return
		}
		result <- outcome{exitCode(cmd.ProcessState), nil}
	}()
	dialled := make(chan error, 1)
	go func() { dialled <- forward.Outside(outside) }()
	err = <-started
	inside.Close()
	if err != nil {
		w.Close()
		return 0, errors.Join(fmt.Errorf("make namespaces: %w (kernel or container forbids it)", err), <-dialled)
	}
	w.Close()
	word, err := io.ReadAll(r)
	if err != nil || string(word) != "ok" {
		<-result
		return 0, fmt.Errorf("prepare namespaces: %s", strings.TrimSpace(string(word)+" "+errText(err)))
	}
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may just have ended
		case err := <-dialled:
			if dialled = nil; err != nil {
				fmt.Fprintln(os.Stderr, "picklock:", err)
			}
		case o := <-result:
			if o.err != nil {
				fmt.Fprintln(os.Stderr, "picklock: wait for the inner process:", o.err)
			}
			return o.code, nil
		}
	}
}

func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return failed
	}
	return outerCode(s.ExitCode())
}

// outerCode is what the outer process exits with when the inner one has exited with code.
func outerCode(code int) int {
	switch code {
	case meansTwo:
		return panicked
	case panicked:
		return failed
	}
	return code
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func hasCap(c int) bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return false
	}
	return data[c/32].Effective&(1<<(c%32)) != 0
}
