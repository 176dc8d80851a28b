// Package etcd has the locks of etcd's client, on leases that it keeps alive.
package etcd

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		etcdInfo(),
		etcdDelayInfo(),
		etcdRwlockInfo(),
		etcdSequencerInfo(),
	)
}
