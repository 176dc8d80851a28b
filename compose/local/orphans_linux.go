package local

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of a dead node's children: an init that waits
// for none, as containers have, would leave their numbers taken, and a server that is
// started again believes that its predecessor runs.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it most machines' init does as well
}

// shared is the shared memory of processes that are about to be killed, by its id: nothing else
// would remove it if it is not in a namespace of its own.
type shared map[int]bool

// note adds what a process uses. It must be alive, or stopped: the number of one that is gone
// may be another's, and a segment names its maker by number only.
func (s shared) note(pid int) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return // it has ended
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		// address perms offset dev inode path: of a segment, the inode is its id
		w := strings.Fields(sc.Text())
		if len(w) < 6 || !strings.HasPrefix(w[5], "/SYSV") {
			continue
		}
		if id, err := strconv.Atoi(w[4]); err == nil {
			s[id] = true
		}
	}
}

// remove removes what was noted, was made by one of these processes, and is not used any more.
func (s shared) remove(makers map[int]bool) {
	f, err := os.Open("/proc/sysvipc/shm")
	if err != nil {
		return // this kernel has no such memory
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		// key shmid perms size cpid lpid nattch ...
		w := strings.Fields(sc.Text())
		if len(w) < 7 || w[6] != "0" {
			continue
		}
		id, ierr := strconv.Atoi(w[1])
		maker, merr := strconv.Atoi(w[4])
		if ierr == nil && merr == nil && s[id] && makers[maker] {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // gone already
		}
	}
}
