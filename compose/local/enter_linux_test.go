package local

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestExitCodes: the outer process exits as the inner one does. A panic, of which Go makes 2, is no verdict.
func TestExitCodes(t *testing.T) {
	if !sandbox.Isolated {
		t.Skip("there is no inner process: " + sandbox.Why)
	}
	for end, want := range map[string]int{"0": 0, "1": 1, "2": 2, "254": 254, "panic": 255} {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), endsEnv+"="+end)
		said, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: exit %d, want %d (%v): %s", end, code, want, err, said)
		}
	}
}

// TestEnterTrustsNoEnvironment: a process that is not the one that Enter has started prepares
// nothing, whatever its environment says.
func TestEnterTrustsNoEnvironment(t *testing.T) {
	before := mounts(t)
	for _, word := range []string{"1", "inner", "yes", "\x1b[31m"} {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), sandboxEnv+"="+word)
		said, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != usage || !strings.Contains(string(said), "unset it") || strings.Contains(string(said), "\x1b") {
			t.Errorf("%s=%q: exit %d (%v): %s", sandboxEnv, word, code, err, said)
		}
		if now := mounts(t); now != before {
			t.Fatalf("%s=%q changed the mounts: %s, were %s", sandboxEnv, word, now, before)
		}
	}

	// Nor is the first process of a PID namespace of another program's.
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), sandboxEnv+"=inner")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("no PID namespace here: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != usage {
		t.Errorf("exit %d (%v): %s", code, err, said)
	}
	if now := mounts(t); now != before {
		t.Errorf("the mounts are %s, were %s", now, before)
	}
}

func mounts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
