package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	tests := []struct {
		text string
		want Process
		ok   bool
	}{
		{"7 (sh) T 1 42 1 0", Process{Parent: 1, Group: 42, State: 'T'}, true},
		{"7 (a ) b (c) R 3 43 1 0", Process{Parent: 3, Group: 43, State: 'R'}, true},
		{"7 (sh) S 1 42 1 0 -1 0 0 0 0 0 100 20 3 4 20 0", Process{Parent: 1, Group: 42, State: 'S', CPU: 1270 * time.Millisecond}, true},
		{"7 (sh) T 1 x", Process{}, false},
		{"7 (sh) T", Process{}, false},
		{"", Process{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat([]byte(tt.text))
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseStat(%q) = %+v, %v", tt.text, got, ok)
		}
	}
}

// A tree is the group and its descendants, the first process first, and nothing of it
// is living once it was killed.
func TestTree(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	kill := func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }
	defer kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	tree, err := Living(pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) != 2 || tree[0].PID != pid || tree[1].Parent != pid || tree[1].Group != pid {
		t.Errorf("tree %+v, want %d and its child", tree, pid)
	}
	kill()
	_ = cmd.Wait()
	for _, p := range tree[1:] {
		for now, ok := Find(p.PID); ok && !now.Ended(); now, ok = Find(p.PID) {
		}
	}
	if got, err := Living(pid); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Living = %+v, %v; want os.ErrProcessDone", got, err)
	}
}

// What children used counts while they run, and once they have ended.
func TestCPU(t *testing.T) {
	const spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; "
	cmd := exec.Command("sh", "-c", "( "+spin+") ; ( "+spin+" echo ready; read x ) ; :")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	got, err := CPU(cmd.Process.Pid)
	self, ok := Find(cmd.Process.Pid)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	whole := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil || !ok || got > whole+5*tick || got < whole/2 || self.CPU >= got {
		t.Errorf("%v, %v of its own and of what has ended, %v when all of it had; %v", got, self.CPU, whole, err)
	}
	if none, err := CPU(1 << 30); none != 0 || err != nil {
		t.Errorf("of nobody: %v, %v", none, err)
	}
}
