package proc

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// All that a shell has started ends with it, in sessions and groups of their own too; what is
// beside it stays.
func TestKillDescent(t *testing.T) {
	start := func(script string, lines int) (*exec.Cmd, []int) {
		cmd := exec.Command("sh", "-c", script)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pids []int
		for s := bufio.NewScanner(out); len(pids) < lines && s.Scan(); {
			pid, err := strconv.Atoi(strings.TrimSpace(s.Text()))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return cmd, pids
	}
	beside, others := start("echo $$; sleep 60; true", 1)
	defer func() { _, _ = beside.Process.Kill(), beside.Wait() }()
	cmd, pids := start("A=1 sh -c 'echo $$; sleep 60; true' | cat & setsid sh -c 'echo $$; (echo $$; sleep 60; true)'; true", 1)
	_ = pids
	tree, err := descent(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) < 4 {
		t.Fatalf("only %d processes", len(tree))
	}
	if err := KillDescent(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, p := range tree {
		if now, ok := Find(p.PID); ok && !now.Ended() {
			if err := AwaitEnd(p.PID); err != nil { // it hangs where the process lives on
				t.Errorf("process %d: %v", p.PID, err)
			}
		}
	}
	if p, ok := Find(others[0]); !ok || p.Ended() || p.Stopped() {
		t.Errorf("what was beside it is %+v", p)
	}
	if err := KillDescent(cmd.Process.Pid); err != nil {
		t.Errorf("again: %v", err)
	}
}
