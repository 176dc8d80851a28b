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

// LocalHands works on this machine's own processes.
type LocalHands struct{}

var errLinux = errors.New("this needs Linux: use --runtime docker")

// Signal implements Hands.
func (LocalHands) Signal(_ context.Context, pid int, sig syscall.Signal) error {
	return syscall.Kill(-pid, sig)
}

// Stopped implements Hands.
func (LocalHands) Stopped(ctx context.Context, pid int) (bool, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return strings.HasPrefix(strings.TrimSpace(string(out)), "T"), err
}

// Drop implements Hands.
func (LocalHands) Drop(context.Context, string, []string) error { return errLinux }

// Dropped implements Hands.
func (LocalHands) Dropped(context.Context, string) (map[string]uint64, error) { return nil, errLinux }

// Reach implements Hands.
func (LocalHands) Reach(context.Context, string, string) (bool, error) { return false, errLinux }

// Shift implements Hands.
func (LocalHands) Shift(context.Context, int, time.Duration) error { return errLinux }

// Offset implements Hands.
func (LocalHands) Offset(context.Context, int) (time.Duration, error) { return 0, errLinux }

// Clock implements Hands.
func (LocalHands) Clock(context.Context) error { return errLinux }
