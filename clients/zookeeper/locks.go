// Package zookeeper has the locks on ZooKeeper: ephemeral sequential nodes.
package zookeeper

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		zkLockInfo(),
		zkparentInfo(),
		zookeeperInfo(),
	)
}
