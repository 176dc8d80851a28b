// Package nats has the locks on NATS: recipes on the key-value buckets of JetStream. It knows the service and its client,
// and must not know faults, workloads or verdicts.
package nats

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		bucketLeaseInfo(),
		keyLeaseInfo(),
	)
}
