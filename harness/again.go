package harness

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Again is the program itself, to be run as a user would, in a process of its own.
// It is out of reach of a terminal's Ctrl-C, which is for the caller to pass on. The
// end of ctx abandons it: it gets two signals of different kinds, of which none hides
// the other, and takes down what it has started.
func Again(ctx context.Context, self string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	cmd.WaitDelay = 30 * time.Second
	return cmd
}
