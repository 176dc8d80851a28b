// Package redis has the locks on Redis, right and naive, of libraries and our own, on one
// server and on several; and a queue there in place of a lock.
package redis

import "github.com/picklock/picklock/clients"

// Locks are the lines of the table, one a lock.
func Locks() []clients.Info {
	return service().Locks(
		queueInfo(),
		redisInfo(),
		redisCounterInfo(),
		redisDelInfo(),
		redisDelayInfo(),
		redisIncrInfo(),
		redisLuaInfo(),
		redisReentrantInfo(),
		redisReplicaInfo(),
		redisRwlockInfo(),
		redisSemaphoreInfo(),
		redisSemaphoreNaiveInfo(),
		redisSentinelInfo(),
		redisSetnxInfo(),
		redislockInfo(),
		redlockInfo(),
		redlockNocheckInfo(),
		redlockWallclockInfo(),
		redsyncInfo(),
		rueidislockInfo(),
	)
}
