package clock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errAgain asks for another attempt once the process has been released for a moment.
var errAgain = errors.New("not possible at this moment")

// process is one process's memory and vDSO.
type process struct {
	pid int
	mem *os.File
	v   *image
}

// openProcess finds and reads the vDSO of pid. The error wraps errAgain while pid starts
// another program.
func openProcess(pid int) (*process, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("%d is no process id", pid)
	}
	// ptrace counts in our PID namespace and /proc in that of its mount: where the two
	// differ, the same number means two processes.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf("%w: /proc does not belong to this PID namespace; mount a fresh one", ErrUnsupported)
	}
	lo, err := findVDSO(pid)
	if err != nil {
		return nil, explain(pid, err)
	}
	p := &process{pid: pid}
	if p.mem, err = openMem(pid); err != nil {
		return nil, explain(pid, err)
	}
	b, err := p.readVDSO(lo)
	if err != nil {
		p.close()
		return nil, explain(pid, fmt.Errorf("read its vDSO: %w", err))
	}
	if p.v, err = parseImage(lo, b); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *process) close() { _ = p.mem.Close() }

func openMem(pid int) (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
}

// findVDSO returns the address of pid's vDSO. The kernel notes it in the vector that it
// hands a program at its start (getauxval(3)). The list in maps will not do: kernels since
// 6.17 make it without stopping the process, and on a busy machine it was seen to lack
// this line.
func findVDSO(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	if len(b) == 0 { // a zombie has no memory left, a kernel thread never had any
		return 0, unix.ESRCH
	}
	const entry, atNull, atSysinfoEHDR = 16, 0, 33
	if binary.NativeEndian.Uint64(b) == atNull { // the vector is written at the end of exec
		return 0, fmt.Errorf("%w: it is starting another program", errAgain)
	}
	for ; len(b) >= entry; b = b[entry:] {
		if binary.NativeEndian.Uint64(b) == atSysinfoEHDR {
			return binary.NativeEndian.Uint64(b[8:]), nil
		}
	}
	return 0, fmt.Errorf("%w: it has no vDSO that a 64-bit program can use (a 32-bit program, or a kernel booted with vdso=0)", ErrUnsupported)
}

// readVDSO reads the vDSO at lo. It may be gone: exec replaces the memory of a process.
func (p *process) readVDSO(lo uint64) ([]byte, error) {
	header := make([]byte, headerLen)
	if _, err := p.mem.ReadAt(header, int64(lo)); errors.Is(err, unix.EIO) {
		return nil, fmt.Errorf("%w: it is starting another program", errAgain)
	} else if err != nil {
		return nil, err
	}
	size, err := imageSize(header)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := p.mem.ReadAt(b, int64(lo)); err != nil {
		return nil, err
	}
	return b, nil
}

// explain replaces an error by os.ErrProcessDone if the process is what is missing, and by
// errAgain if its memory is: exec gives a process a new one.
func explain(pid int, err error) error {
	if err == nil || errors.Is(err, os.ErrProcessDone) || errors.Is(err, ErrUnsupported) || errors.Is(err, errAgain) {
		return err
	}
	if s := taskState(pid, pid); s == 'Z' || s == 'X' || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("it has ended: %w", os.ErrProcessDone)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it has started another program: %w", errAgain, err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (%s)", err, whyDenied(pid))
	}
	return err
}

// whyDenied says what most likely forbids tracing pid.
func whyDenied(pid int) string {
	if pid == os.Getpid() {
		return "a process cannot trace itself"
	}
	if t := tracer(pid); t != 0 {
		return fmt.Sprintf("process %d already traces it; end that debugger first", t)
	}
	if b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		if s := strings.TrimSpace(string(b)); s != "0" {
			return "kernel.yama.ptrace_scope is " + s + ": trace own children only, get CAP_SYS_PTRACE, or set it to 0"
		}
	}
	return "run as the process's user or with CAP_SYS_PTRACE; in a container, seccomp or AppArmor may forbid ptrace"
}

// tracer returns the id of the thread that traces pid, 0 if none does.
func tracer(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "\nTracerPid:")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

// taskState returns the state letter of a thread, 'X' if there is no such thread.
func taskState(pid, tid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return 'X'
	}
	// "pid (name) state ...": the name may hold anything, even a parenthesis.
	i := strings.LastIndexByte(string(b), ')') + 2
	if i < 2 || i >= len(b) {
		return 'X'
	}
	return b[i]
}

// threadIDs lists the threads of pid.
func threadIDs(pid int) ([]int, error) {
	d, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// blocked is where a thread that waits in the kernel will continue.
type blocked struct {
	syscall int64 // -1: not in a system call but in a fault
	arg0    uint64
	sp, pc  uint64
}

// blockedAt reads it; false if the thread is running after all.
func blockedAt(pid, tid int) (blocked, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return blocked{}, false
	}
	f := strings.Fields(string(b))
	if len(f) != 3 && len(f) != 9 {
		return blocked{}, false
	}
	var at blocked
	var errs [4]error
	at.syscall, errs[0] = strconv.ParseInt(f[0], 10, 64)
	if len(f) == 9 {
		at.arg0, errs[1] = strconv.ParseUint(f[1], 0, 64)
	}
	at.sp, errs[2] = strconv.ParseUint(f[len(f)-2], 0, 64)
	at.pc, errs[3] = strconv.ParseUint(f[len(f)-1], 0, 64)
	return at, errors.Join(errs[:]...) == nil
}
