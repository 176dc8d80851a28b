package nemesis

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// belongs returns nil if the process is one of the container's. The engine gives
// every container control groups that have its id in their names, in all versions
// and with all drivers: /docker/ID, /system.slice/docker-ID.scope, ../ID.
func belongs(pid int, id string) error {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return err
	}
	if !inContainer(groups, id) {
		return ErrRefused
	}
	return nil
}

// inContainer looks for the id in the paths of a /proc/PID/cgroup file.
func inContainer(groups []byte, id string) bool {
	for l := range bytes.Lines(groups) {
		f := bytes.SplitN(bytes.TrimSpace(l), []byte(":"), 3)
		if len(f) == 3 && bytes.Contains(f[2], []byte(id)) {
			return true
		}
	}
	return false
}

// eachProcess calls f with every process id there is.
func eachProcess(f func(pid int)) error {
	dir, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			f(pid)
		}
	}
	return nil
}

// members lists the living processes of a container, its first one first.
func (n *containerNode) members() ([]int, error) {
	var pids []int
	err := eachProcess(func(pid int) {
		if belongs(pid, n.id) != nil {
			return
		}
		if s := state(pid); s != 'Z' && s != 'X' && s != 0 {
			pids = append(pids, pid)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("container %.12s: %w", n.id, os.ErrProcessDone)
	}
	if i := slices.Index(pids, n.pid); i > 0 {
		pids[0], pids[i] = pids[i], pids[0]
	}
	return pids, nil
}

func state(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	s, _, _ := parseStat(text)
	return s
}

// sharedSpace says whether a process outside of the container has the same network:
// the host's own, or another container's, may have been given to it.
func sharedSpace(space uint64, id string) (bool, error) {
	self := os.Getpid()
	var shared bool
	err := eachProcess(func(pid int) {
		// Our own threads visit other namespaces; a process that may not be looked at
		// is none of this run's, nor of its network's.
		if pid == self || shared {
			return
		}
		if s, err := spaceOf(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && s == space && belongs(pid, id) != nil {
			shared = true
		}
	})
	return shared, err
}

// spaceOf tells namespaces apart by their number.
func spaceOf(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return st.Ino, err
}
