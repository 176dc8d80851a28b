// Package s3 has the locks on S3, made of conditional writes. It knows the service and its client, and must not know
// faults, workloads or verdicts.
package s3

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return []clients.Info{
		lockfileInfo(),
		leaseInfo(),
		deleteInfo(),
	}
}
