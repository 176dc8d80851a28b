package local

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes the children of a node that dies ours: an init that waits for
// nobody, as containers have, would leave their numbers taken, and a server that is
// started again believes that its predecessor runs.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it most machines' init does as well
}

// removeShared removes the shared memory that killed processes made and that nobody
// uses any more: nobody else would, where it is not in a namespace of its own.
func removeShared(pids map[int]bool) {
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
		if ierr == nil && merr == nil && pids[maker] {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // gone, or not ours
		}
	}
}
