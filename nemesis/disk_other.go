//go:build !linux

package nemesis

import "context"

// Disk implements DiskInjector.
func (LocalInjector) Disk(context.Context) error { return errLinux }
