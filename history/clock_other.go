//go:build unix && !linux

package history

import "golang.org/x/sys/unix"

// Now reads CLOCK_MONOTONIC in nanoseconds; all processes of one machine share it.
func Now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}
