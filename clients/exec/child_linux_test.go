package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/clients"
)

// parent opens the lock and waits to be killed.
func parent(lock string) error {
	info := named(lock)
	if _, err := info.Open(context.Background(), clients.Options{Client: "c1", TTL: time.Second}); err != nil {
		return err
	}
	fmt.Println("open")
	select {}
}

// TestExecDiesWithWorker kills a worker: its child must not live on, even one that
// does not look at its standard input, and it is in the worker's process group.
func TestExecDiesWithWorker(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid") // a pipe: to read it is to await the child
	if err := unix.Mkfifo(pidFile, 0o600); err != nil {
		t.Fatal(err)
	}
	lock := script(t, opened+"echo $$ >"+pidFile+"; exec sleep 1000")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), execParent+"="+lock)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := io.ReadFull(out, make([]byte, len("open\n"))); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if got, want := stat(pid)[2], stat(cmd.Process.Pid)[2]; got != want {
		t.Errorf("child in process group %s, worker in %s", got, want)
	}
	cmd.Process.Kill()
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // readable at its end
	for {
		n, err := unix.Poll(ended, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 || err != nil {
			t.Fatalf("child %d lives on: %v", pid, err)
		}
		return
	}
}

// stat is /proc/PID/stat from the state on: state, parent, process group, ...
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}
