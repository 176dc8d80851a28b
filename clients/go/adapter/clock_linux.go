package adapter

import (
	"syscall"
	"unsafe"
)

// Monotonic is CLOCK_MONOTONIC in ns, which picklock reads too: the time of Lease.Since.
func Monotonic() int64 {
	var t syscall.Timespec
	const clockMonotonic = 1
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return 0
	}
	return t.Nano()
}
