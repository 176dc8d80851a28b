// Package kubernetes has client-go's leader election, on a Lease object.
package kubernetes

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		kubernetesInfo(),
	)
}
