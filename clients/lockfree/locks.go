// Package lockfree changes the resource without a lock and without a service.
package lockfree

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one each.
func Locks() []clients.Info {
	return []clients.Info{
		idempotencyInfo(),
		occInfo(),
	}
}
