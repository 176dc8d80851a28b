// Package mariadb has the locks on MariaDB: one that a connection holds, and one that a table's row holds for a time. It
// knows the service and its client, and must not know faults, workloads or verdicts.
package mariadb

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		sessionInfo(),
		tableInfo(),
	)
}
