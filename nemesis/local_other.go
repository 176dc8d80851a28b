//go:build !linux

package nemesis

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// LocalInjector works on this machine's own processes.
type LocalInjector struct{}

// NewLocalInjector is one.
func NewLocalInjector() LocalInjector { return LocalInjector{} }

var errLinux = errors.New("this needs Linux: use --runtime docker")

// Do implements Injector.
func (LocalInjector) Do(ctx context.Context, op Op) (r Result, err error) {
	switch op.Name {
	case OpSignal:
		return r, syscall.Kill(-op.PID, op.Signal)
	case OpStopped:
		out, err := exec.CommandContext(ctx, "ps", "-o", "stat=", "-p", strconv.Itoa(op.PID)).Output()
		r.Yes = strings.HasPrefix(strings.TrimSpace(string(out)), "T")
		return r, err
	}
	return r, errLinux
}
