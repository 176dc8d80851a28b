package library

import (
	"slices"
	"time"

	"github.com/picklock/picklock/clients"
)

func pythonLines() []line {
	return slices.Concat(redisPythonLines(), kazooLines(), toozLines(), databaseLines())
}

func redisPythonLines() []line {
	asyncio := line{
		name: "redis-py-asyncio", about: "redis-py's Lock for asyncio on one Redis, all defaults but the timeout",
		language: pythonLanguage, folder: "redis_py_asyncio", program: "redis_py_asyncio", library: "redis", version: "8.1.0", cluster: "redis",
		confirms: true, holds: true, cancels: true, ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://redis.readthedocs.io/en/stable/lock.html"},
	}
	return []line{asyncio, {
		name: "python-redis-lock", about: "python-redis-lock's Lock on one Redis: an expiry in whole seconds, no auto_renewal",
		language: pythonLanguage, folder: "python_redis_lock", program: "python_redis_lock", library: "python-redis-lock", version: "4.0.1", cluster: "redis",
		confirms: true, several: true, ownLeases: true, minTTL: time.Second, promises: []string{"https://python-redis-lock.readthedocs.io/en/latest/readme.html"},
	}, {
		name: "redis-py", about: "redis-py's Lock on one Redis, all defaults but the timeout",
		language: pythonLanguage, folder: "redis_py", program: "redis_py", library: "redis", version: "8.1.0", cluster: "redis",
		confirms: true, holds: true, several: true, ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://redis.readthedocs.io/en/stable/lock.html"},
		options: []clients.Option{
			{Name: "sleep", About: "seconds between two tries", Default: "0.1", Check: number},
			{Name: "socket_timeout", About: "seconds until a command that was not answered is given up", Default: "the library's", Check: number},
		},
	}, {
		name: "pottery-redlock", about: "pottery's Redlock over independent Redis nodes, all defaults but the auto_release_time",
		language: pythonLanguage, folder: "pottery_redlock", program: "pottery_redlock", library: "pottery", version: "3.0.1", cluster: "redlock",
		ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://github.com/brainix/pottery#readme"},
	}, {
		name: "sherlock-redis", variant: "redis", about: "sherlock's RedisLock on one Redis: an expiry in whole seconds",
		language: pythonLanguage, folder: "sherlock_locks", program: "sherlock_locks", library: "sherlock", version: "0.4.1", cluster: "redis",
		confirms: true, ownLeases: true, minTTL: time.Second, promises: []string{"https://sher-lock.readthedocs.io/en/latest/"},
	}, {
		name: "redbeat", about: "celery-redbeat's lock on one Redis, by its beat scheduler, which extends it: a time-out in whole seconds",
		language: pythonLanguage, folder: "redbeat_beat", program: "redbeat_beat", library: "celery-redbeat", version: "2.4.2", cluster: "redis",
		minTTL: time.Second, promises: []string{"https://redbeat.readthedocs.io/en/latest/config.html"},
	}, portalocker("portalocker-redis", "plain", "the holder subscribes to a channel"),
		portalocker("portalocker-redis-fenced", "fenced", "the same, with the library's tokens"), {
			name: "filelock", about: "filelock's FileLock: flock(2) on a file in a shared directory",
			language: pythonLanguage, folder: "filelock_lock", program: "filelock_lock", library: "filelock", version: "4.2.12", cluster: "directory",
			minTTL: time.Second, promises: []string{"https://py-filelock.readthedocs.io/en/latest/"},
		}}
}

func portalocker(name, variant, about string) line {
	return line{
		name: name, variant: variant, about: "portalocker's RedisLock on one Redis: " + about, fencing: variant == "fenced",
		language: pythonLanguage, folder: "portalocker_redis", program: "portalocker_redis", library: "portalocker", version: "4.4.2", cluster: "redis",
		minTTL: time.Second, promises: []string{"https://portalocker.readthedocs.io/en/latest/portalocker.redis.html"},
	}
}

func kazooLines() []line {
	of := func(name, variant, about string) line {
		return line{
			name: name, variant: variant, about: "kazoo's " + about + " on ZooKeeper",
			language: pythonLanguage, folder: "kazoo_lock", program: "kazoo_lock", library: "kazoo", version: "2.11.0", cluster: "zookeeper",
			cancels: true, minTTL: 400 * time.Millisecond, options: []clients.Option{listenerOption()},
			promises: []string{"https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html", "https://kazoo.readthedocs.io/en/latest/basic_usage.html"},
		}
	}
	rw := of("kazoo-rw", "rw", "ReadLock and WriteLock")
	rw.kind = clients.ReadWrite
	semaphore := of("kazoo-semaphore", "semaphore", "Semaphore")
	semaphore.kind, semaphore.options = clients.Semaphore, []clients.Option{clients.PermitsOption(), listenerOption()}
	return []line{of("kazoo", "lock", "Lock"), rw, semaphore}
}

// toozLines are those of the drivers that are not on their way out.
func toozLines() []line {
	of := func(name, driver, cluster, about string) line {
		return line{
			name: name, variant: driver, about: "tooz's lock " + about,
			language: pythonLanguage, folder: "tooz_locks", program: "tooz_locks", library: "tooz", version: "9.1.0", cluster: cluster,
			ownLeases: true, minTTL: time.Second, promises: []string{"https://docs.openstack.org/tooz/latest/user/tutorial/lock.html"},
		}
	}
	memcached := of("tooz-memcached", "memcached", "memcached", "on one memcached, kept by heartbeats: a time-out in whole seconds")
	memcached.minTTL, memcached.options = 2*time.Second, memcachedExpiry()
	return []line{
		of("tooz-redis", "redis", "redis", "on one Redis, kept by heartbeats: a time-out in whole seconds"),
		of("tooz-etcd", "etcd3gw", "etcd", "on etcd's gateway, kept by heartbeats: a time-out in whole seconds"),
		memcached, of("tooz-mysql", "mysql", "mariadb", "on MariaDB: GET_LOCK on a connection of its own"),
		of("tooz-file", "file", "directory", "on files: fasteners' lock in a shared directory"),
		of("tooz-zookeeper", "zookeeper", "zookeeper", "on ZooKeeper: a session in whole seconds"),
	}
}
