package nats

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/clients"
)

// keyLease gives each key its own time to live when it is created (nats-server 2.11). An update has no time to live, and
// takes away the one that the key had: after a renewal the key of a client that crashed stays for ever. The maintainers
// call that intended: https://github.com/nats-io/nats-server/issues/6959.
var keyLease = recipe{
	name: "nats-kv-key",
	bucket: func(o clients.Options) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{Bucket: bucketOf("picklock_key", o.TTL), LimitMarkerTTL: time.Second}
	},
	create: func(o clients.Options) []jetstream.KVCreateOpt {
		return []jetstream.KVCreateOpt{jetstream.KeyTTL(o.TTL)}
	},
}

func keyLeaseInfo() clients.Info {
	return clients.Info{
		Name:      keyLease.name,
		About:     "NATS JetStream: a key with a time to live of its own, which a renewal takes away from it",
		Cluster:   "nats",
		Fencing:   true,
		Confirms:  true, // every write names the revision that it expects
		MinTTL:    time.Second,
		LeaseUnit: time.Second,
		Inspect:   keyLease.look,
		Open:      keyLease.open,
		Naive:     true,
	}
}
