// Package redis has the locks on Redis: correct and naive ones, libraries' and picklock's own, on
// one server and on several; and a queue in place of a lock.
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
