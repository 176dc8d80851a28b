package exec

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
	pidFile := filepath.Join(t.TempDir(), "pid")
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
	var pid int
	for pid == 0 {
		b, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	if got, want := stat(pid)[2], stat(cmd.Process.Pid)[2]; got != want {
		t.Errorf("child in process group %s, worker in %s", got, want)
	}
	cmd.Process.Kill()
	deadline := time.Now().Add(20 * time.Second)
	for {
		f := stat(pid)
		if f == nil || f[0] == "Z" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("child %d lives on", pid)
		}
		time.Sleep(5 * time.Millisecond)
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
