// Package memcached has the lock on memcached: the recipe that add allows. It knows the service and its client, and must
// not know faults, workloads or verdicts.
package memcached

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return []clients.Info{
		memcachedInfo(),
	}
}
