// Package dynamodb has the locks on DynamoDB, made of conditional writes.
package dynamodb

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		dynamodbInfo(),
		dynamodbWallclockInfo(),
	)
}
