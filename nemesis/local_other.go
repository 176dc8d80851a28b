//go:build !linux

package nemesis

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// LocalInjector works on this machine's own processes.
type LocalInjector struct{}

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

// Dropped implements Injector.
func (LocalInjector) Dropped(context.Context, string) (map[string]uint64, error) {
	return nil, errLinux
}

// Reach implements Injector.
func (LocalInjector) Reach(context.Context, string, string) (bool, error) { return false, errLinux }

// Shift implements Injector.
func (LocalInjector) Shift(context.Context, int, time.Duration) error { return errLinux }

// Offset implements Injector.
func (LocalInjector) Offset(context.Context, int) (time.Duration, error) { return 0, errLinux }

// Clock implements Injector.
func (LocalInjector) Clock(context.Context) error { return errLinux }
