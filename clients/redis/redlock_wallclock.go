package redis

import (
	"time"

	"github.com/picklock/picklock/clients"
)

func redlockWallclockInfo() clients.Info {
	return clients.Info{
		Name:    "redlock-wallclock",
		About:   "Redlock by hand that measures on the wall clock how long the round took",
		Cluster: "redlock",
		MinTTL:  10 * time.Millisecond,
		Naive:   true,
		Inspect: lookRedis,
		Open: openOwnRedlock(func(l *ownRedlock, began time.Time) time.Duration {
			return l.options.TTL - time.Now().Round(0).Sub(began)
		}),
	}
}
