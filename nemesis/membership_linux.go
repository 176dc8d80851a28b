package nemesis

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/picklock/picklock/internal/proc"
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

// members lists the living processes of a container, its first one first.
func (n *containerNode) members() ([]int, error) {
	all, err := proc.PIDs()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, pid := range all {
		if belongs(pid, n.id) != nil {
			continue
		}
		if p, ok := proc.Find(pid); ok && !p.Ended() {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("container %.12s: %w", n.id, os.ErrProcessDone)
	}
	if i := slices.Index(pids, n.pid); i > 0 {
		pids[0], pids[i] = pids[i], pids[0]
	}
	return pids, nil
}

// sharedSpace says whether a process outside of the container has the same network:
// the host's own, or another container's, may have been given to it.
func sharedSpace(space uint64, id string) (bool, error) {
	all, err := proc.PIDs()
	if err != nil {
		return false, err
	}
	self := os.Getpid()
	for _, pid := range all {
		// This process's own threads enter other namespaces. A process that may not be
		// looked at is not in this run, nor in its network.
		if pid == self {
			continue
		}
		s, err := proc.NetNSNumber(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil || s != space {
			continue
		}
		if foreign := belongs(pid, id) != nil; foreign {
			return true, nil //nolint:nilerr // that it is another's is the answer
		}
	}
	return false, nil
}
