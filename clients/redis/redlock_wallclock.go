package redis

import (
	"time"

	"github.com/picklock/picklock/clients"
)

func redlockWallclockInfo() clients.Info {
	return clients.Info{
		Name:    "redlock-wallclock",
		About:   "hand-written Redlock that measures the round of requests on the wall clock",
		Cluster: "redlock",
		MinTTL:  10 * time.Millisecond,
		Naive:   true,
		Inspect: lookRedis,
		Open: openOwnRedlock(func(l *ownRedlock, began time.Time) time.Duration {
			return l.options.TTL - time.Now().Round(0).Sub(began)
		}),
	}
}
