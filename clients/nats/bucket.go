package nats

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/clients"
)

// bucketLease ends a lease by the age of the key's last message: all keys of the bucket live for one lease since they
// were written, and a renewal writes anew. It is the recipe that keeps its lease.
var bucketLease = recipe{
	name: "nats-kv",
	bucket: func(o clients.Options) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{Bucket: bucketOf("picklock", o.TTL), TTL: o.TTL}
	},
	create: func(clients.Options) []jetstream.KVCreateOpt { return nil },
}

func bucketLeaseInfo() clients.Info {
	return clients.Info{
		Name:     bucketLease.name,
		About:    "NATS JetStream: a key of a bucket whose keys live for one lease; it is created to acquire, written anew to renew, and its revision is the token",
		Cluster:  "nats",
		Fencing:  true,
		Confirms: true, // every write names the revision that it expects
		MinTTL:   100 * time.Millisecond,
		Inspect:  bucketLease.look,
		Open:     bucketLease.open,
	}
}
