package local

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSharedMemory: removed is what the killed processes used, and no other's, whatever
// number its maker had.
func TestSharedMemory(t *testing.T) {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Skipf("no shared memory here: %v", err)
	}
	gone := false
	t.Cleanup(func() {
		if !gone {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	})
	there := func() bool {
		var d unix.SysvShmDesc
		_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d)
		return err == nil
	}
	me := map[int]bool{os.Getpid(): true}

	memory := shared{}
	memory.note(os.Getpid())
	memory.remove(me)
	if !there() {
		t.Fatal("removed, and nothing that was killed had used it: its maker's number may be another's by now")
	}

	m, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	memory.note(os.Getpid())
	memory.remove(me)
	if !there() {
		t.Fatal("removed while it is used")
	}
	if err := unix.SysvShmDetach(m); err != nil {
		t.Fatal(err)
	}
	memory.remove(map[int]bool{1 << 30: true})
	if !there() {
		t.Fatal("removed, and another had made it")
	}
	memory.remove(me)
	if gone = !there(); !gone {
		t.Error("left")
	}
}
