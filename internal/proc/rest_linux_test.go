package proc

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A program that computes is not at rest, one that sleeps is, and one that was stopped amid
// its computing is stopped.
func TestAtRest(t *testing.T) {
	start := func(script string) int {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL), cmd.Wait() })
		return cmd.Process.Pid
	}
	become := func(pid int, rest, stopped bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			r, s, err := AtRest(pid)
			if err != nil {
				t.Fatal(err)
			}
			if r == rest && (len(s) > 0) == stopped {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("at rest %v, stopped %v", r, s)
			}
		}
	}
	busy, idle := start("while :; do :; done"), start("sleep 60 | sleep 60; true")
	become(idle, true, false)
	for range 20 {
		if rest, _, err := AtRest(busy); err != nil || rest {
			t.Fatalf("what computes is at rest: %v", err)
		}
	}
	if err := syscall.Kill(-busy, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	become(busy, true, true)
	for range 20 {
		if rest, stopped, err := AtRest(idle, busy); err != nil || !rest || !slices.Equal(stopped, []int{busy}) {
			t.Fatalf("at rest %v, stopped %v, want %d; %v", rest, stopped, busy, err)
		}
	}
	// What a child computes is its parent's, too, wherever that is among them.
	parent := start("(while :; do :; done) & wait")
	for child := false; !child; {
		tree, err := Tree(parent)
		if err != nil {
			t.Fatal(err)
		}
		child = len(tree) > 1
	}
	for _, pids := range [][]int{{parent}, {idle, parent}, {parent, idle}} {
		for range 20 {
			if rest, _, err := AtRest(pids...); err != nil || rest {
				t.Fatalf("%v: what computes is at rest: %v", pids, err)
			}
		}
	}
}
