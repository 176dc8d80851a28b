//go:build !linux

package adapter

// Monotonic is 0: a lease then counts from when the lock was asked for.
func Monotonic() int64 { return 0 }
