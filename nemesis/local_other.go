//go:build !linux

package nemesis

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/wire"
)

// LocalInjector works on this machine's own processes.
type LocalInjector struct{}

// NewLocalInjector is one.
func NewLocalInjector() LocalInjector { return LocalInjector{} }

var errLinux = errors.New("this needs Linux: use --runtime docker")

// Signal implements Injector.
func (LocalInjector) Signal(_ context.Context, pid int, sig syscall.Signal) error {
	return syscall.Kill(-pid, sig)
}

// Stopped implements Injector.
func (LocalInjector) Stopped(ctx context.Context, pid int) (bool, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return strings.HasPrefix(strings.TrimSpace(string(out)), "T"), err
}

// Drop implements Injector.
func (LocalInjector) Drop(context.Context, string, []string) error { return errLinux }

// Bar implements Injector.
func (LocalInjector) Bar(context.Context, string, []string, []string) error { return errLinux }

// Dropped implements Injector.
func (LocalInjector) Dropped(context.Context, string) (map[string]uint64, error) {
	return nil, errLinux
}

// Reach implements Injector.
func (LocalInjector) Reach(context.Context, string, string) (bool, error) { return false, errLinux }

// Wire implements Injector.
func (LocalInjector) Wire(context.Context, string, wire.Order) (wire.Report, error) {
	return wire.Report{}, errLinux
}

// SetClock implements Injector.
func (LocalInjector) SetClock(context.Context, int, clock.Setting) error { return errLinux }

// ReadClock implements Injector.
func (LocalInjector) ReadClock(context.Context, int) (clock.Setting, error) {
	return clock.Setting{}, errLinux
}

// Clock implements Injector.
func (LocalInjector) Clock(context.Context) error { return errLinux }
