// Package consul has the locks on Consul: those of its api module, on sessions.
package consul

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		consulInfo(),
		consulSemaphoreInfo(),
	)
}
