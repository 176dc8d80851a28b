package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// PIDs lists the ids of all processes that there are.
func PIDs() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out, nil
}

// List lists all processes that there are.
func List() ([]Process, error) {
	pids, err := PIDs()
	if err != nil {
		return nil, err
	}
	var out []Process
	for _, pid := range pids {
		if p, ok := Find(pid); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// Find looks one process up; false says that there is none of that id.
func Find(pid int) (Process, bool) {
	text, err := readStat("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, false
	}
	p, ok := parseStat(text)
	p.PID = pid
	return p, ok
}

// threads lists a process's threads; none of one that has ended since.
func threads(p Process) ([]Process, error) {
	dir := "/proc/" + strconv.Itoa(p.PID) + "/task"
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the threads of process %d: %w", p.PID, err)
	}
	var out []Process
	for _, name := range names {
		text, err := readStat(dir + "/" + name.Name() + "/stat")
		if err != nil {
			continue // it has ended since
		}
		if t, ok := parseStat(text); ok {
			out = append(out, t)
		}
	}
	return out, nil
}

// readStat reads a file of one line that the kernel gives whole: os.ReadFile makes twice as many system calls, and
// these files are read by the hundred.
func readStat(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 1024)
	n, err := unix.Read(fd, buf)
	if err := errors.Join(err, unix.Close(fd)); err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// parseStat reads a /proc/PID/stat line, "pid (name) state parent group ...", whose
// name may hold anything.
func parseStat(text []byte) (Process, bool) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return Process{}, false
	}
	f := bytes.Fields(text[i+1:])
	if len(f) < 3 {
		return Process{}, false
	}
	parent, perr := strconv.Atoi(string(f[1]))
	group, gerr := strconv.Atoi(string(f[2]))
	p := Process{Parent: parent, Group: group, State: f[0][0]}
	if len(f) > 14 {
		for _, ticks := range f[11:15] { // utime, stime, cutime and cstime of proc(5)
			n, _ := strconv.ParseInt(string(ticks), 10, 64)
			p.CPU += time.Duration(n) * tick
		}
	}
	return p, perr == nil && gerr == nil
}

// tick is what /proc counts in, on all machines that Go runs on.
const tick = time.Second / 100
