// Package file has the locks on a directory that clients share.
package file

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return []clients.Info{
		fileInfo(),
		flockInfo(),
		flockUnlinkInfo(),
	}
}
