// Package postgres has the locks on Postgres: advisory locks, row locks and rows with a lease.
package postgres

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		pgbouncerInfo(),
		postgresRowInfo(),
		postgresSessionInfo(),
		postgresSharedInfo(),
		postgresTableInfo(),
		postgresXactInfo(),
	)
}
