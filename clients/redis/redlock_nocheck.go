package redis

import (
	"time"

	"github.com/picklock/picklock/clients"
)

func redlockNocheckInfo() clients.Info {
	return clients.Info{
		Name:    "redlock-nocheck",
		About:   "hand-written Redlock that does not check how long the round of requests took",
		Cluster: "redlock",
		MinTTL:  10 * time.Millisecond,
		Naive:   true,
		Inspect: lookRedis,
		Open:    openOwnRedlock(func(l *ownRedlock, _ time.Time) time.Duration { return l.options.TTL }),
	}
}
