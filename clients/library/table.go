package library

import (
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// lines is the table.
func lines() []line {
	var out []line
	for _, l := range [][]line{javaLines(), pythonLines(), nodeLines(), goLines(), rustLines()} {
		out = append(out, l...)
	}
	return out
}

// number is the Check of an option that the library takes as a number.
var number = adapter.Checks(adapter.ParseNumber)

const redissonDocs = "https://redisson.pro/docs/data-and-services/locks-and-synchronizers/"

func javaLines() []line {
	redisson := line{
		language: javaLanguage, folder: "redisson", program: "RedissonLocks", library: "org.redisson:redisson", version: "4.7.0", cluster: "redis",
		confirms: true, minTTL: time.Second, promises: []string{redissonDocs},
		cannot: map[string]string{"clock": "how long an acquire waits, it measures on the wall clock (System.currentTimeMillis in RedissonLock.tryLock)"},
		options: []clients.Option{{
			Name: "watchdog", About: "no lease is given, and the library renews the lock for as long as its process lives; no: the lease is --ttl",
			Default: "yes", Check: adapter.Checks(adapter.ParseSwitch),
		}},
	}
	of := func(name, variant, about string) line {
		l := redisson
		l.name, l.variant, l.about = name, variant, "Redisson's "+about
		return l
	}
	fenced := of("redisson-fenced", "fenced", "RFencedLock on one Redis: a lock with a token")
	fenced.fencing = true
	rw := of("redisson-rw", "rw", "RReadWriteLock on one Redis")
	rw.kind = clients.ReadWrite
	semaphore := of("redisson-semaphore", "semaphore", "RPermitExpirableSemaphore on one Redis: permits with a lease")
	semaphore.kind, semaphore.options = clients.Semaphore, []clients.Option{clients.PermitsOption()}
	return append(curatorLines(),
		of("redisson", "lock", "RLock on one Redis, which its watchdog renews"),
		of("redisson-fair", "fair", "fair lock on one Redis: waiting clients in line"),
		of("redisson-spin", "spin", "spin lock on one Redis: waiting clients try again and again"),
		fenced, rw, semaphore,
	)
}

// listenerOption is that of ZooKeeper's libraries.
func listenerOption() clients.Option {
	return clients.Option{
		Name: "listener", About: "on what a holder counts its lock as lost: suspended (the connection is down), lost (the session has ended), none (never)",
		Default: "suspended", Safer: []string{"suspended"}, Check: adapter.Checks(adapter.OneOf("suspended", "lost", "none")),
	}
}

func curatorLines() []line {
	of := func(name, variant, about string) line {
		return line{
			name: name, variant: variant, about: "Apache Curator's " + about,
			language: javaLanguage, folder: "curator", program: "CuratorLocks", library: "org.apache.curator:curator-recipes", version: "5.9.0", cluster: "zookeeper",
			minTTL: 400 * time.Millisecond, promises: []string{"https://curator.apache.org/docs/recipes-shared-reentrant-lock", "https://curator.apache.org/docs/errors"},
			options: []clients.Option{listenerOption()},
		}
	}
	rw := of("curator-rw", "rw", "InterProcessReadWriteLock on ZooKeeper")
	rw.kind = clients.ReadWrite
	semaphore := of("curator-semaphore", "semaphore", "InterProcessSemaphoreV2 on ZooKeeper")
	semaphore.kind, semaphore.options = clients.Semaphore, []clients.Option{clients.PermitsOption(), listenerOption()}
	return []line{
		of("curator", "mutex", "InterProcessMutex on ZooKeeper"),
		of("curator-semaphore-mutex", "semaphore-mutex", "InterProcessSemaphoreMutex on ZooKeeper: a mutex that is not reentrant"),
		rw, semaphore,
	}
}

func pythonLines() []line {
	asyncio := line{
		name: "redis-py-asyncio", about: "redis-py's Lock for asyncio on one Redis, all defaults but the timeout",
		language: pythonLanguage, folder: "redis_py_asyncio", program: "redis_py_asyncio", library: "redis", version: "8.1.0", cluster: "redis",
		confirms: true, minTTL: 10 * time.Millisecond, promises: []string{"https://redis.readthedocs.io/en/stable/lock.html"},
	}
	return []line{asyncio, {
		name: "python-redis-lock", about: "python-redis-lock's Lock on one Redis: an expiry in whole seconds, no auto_renewal",
		language: pythonLanguage, folder: "python_redis_lock", program: "python_redis_lock", library: "python-redis-lock", version: "4.0.1", cluster: "redis",
		confirms: true, minTTL: time.Second, promises: []string{"https://python-redis-lock.readthedocs.io/en/latest/readme.html"},
	}, {
		name: "redis-py", about: "redis-py's Lock on one Redis, all defaults but the timeout",
		language: pythonLanguage, folder: "redis_py", program: "redis_py", library: "redis", version: "8.1.0", cluster: "redis",
		confirms: true, minTTL: 10 * time.Millisecond, promises: []string{"https://redis.readthedocs.io/en/stable/lock.html"},
		options: []clients.Option{
			{Name: "sleep", About: "seconds between two tries", Default: "0.1", Check: number},
			{Name: "socket_timeout", About: "seconds until a command that was not answered is given up", Default: "the library's", Check: number},
		},
	}, {
		name: "kazoo", about: "kazoo's Lock on ZooKeeper",
		language: pythonLanguage, folder: "kazoo_lock", program: "kazoo_lock", library: "kazoo", version: "2.11.0", cluster: "zookeeper",
		minTTL: 400 * time.Millisecond, options: []clients.Option{listenerOption()},
		promises: []string{"https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html", "https://kazoo.readthedocs.io/en/latest/basic_usage.html"},
	}}
}

func nodeLines() []line {
	setting := func(name, about, otherwise string) clients.Option {
		return clients.Option{Name: name, About: about, Default: otherwise, Check: adapter.Checks(adapter.ParseCount)}
	}
	semaphores := func(name, variant, cluster, about string) line {
		return line{
			name: name, variant: variant, about: "redis-semaphore's " + about,
			language: nodeLanguage, folder: "redis-semaphore", program: "locks", library: "redis-semaphore", version: "5.8.0", cluster: cluster,
			minTTL: 100 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/redis-semaphore"},
			cannot: map[string]string{"clock": "how long an acquire waits, it measures on the wall clock (Date.now)"},
		}
	}
	semaphore := semaphores("node-redis-semaphore", "semaphore", "redis", "Semaphore on one Redis, which it refreshes")
	semaphore.kind, semaphore.options = clients.Semaphore, []clients.Option{clients.PermitsOption()}
	return []line{semaphore, semaphores("node-redis-semaphore-mutex", "mutex", "redis", "Mutex on one Redis, which it refreshes"),
		semaphores("node-redis-semaphore-redlock", "redlock", "redlock", "RedlockMutex over independent Redis nodes, which it refreshes"), {
			name: "node-redlock", about: "node-redlock over independent Redis nodes, all defaults but how often it tries",
			language: nodeLanguage, folder: "redlock", program: "redlock", library: "redlock", version: "5.0.0-beta.2", cluster: "redlock",
			minTTL: 10 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/redlock/v/5.0.0-beta.2"},
			options: []clients.Option{
				setting("retryCount", "how often it tries again", "what the wait has time for"),
				setting("retryDelay", "milliseconds between two tries", "200"),
				setting("retryJitter", "milliseconds that are added to it at random", "100"),
				{Name: "driftFactor", About: "share of the lease kept back for clocks that run at different speeds", Default: "0.01", Safer: []string{"0.1"}, Check: number},
			},
		}}
}

func goLines() []line {
	etcd := func(name, folder, library, version, page string) line {
		return line{
			name: name, about: "etcd's concurrency.Mutex, in a program of its own: in any version of " + library,
			language: goLanguage, folder: folder, program: "main", library: library, version: version, cluster: "etcd",
			minTTL: time.Second, promises: []string{page},
		}
	}
	return []line{etcd("go-etcd", "etcd", "go.etcd.io/etcd/client/v3", "3.7.3", "https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency"),
		etcd("go-etcd34", "etcd34", "go.etcd.io/etcd", "0.5.0-alpha.5.0.20200910180754-dd1b699fc489", "https://pkg.go.dev/go.etcd.io/etcd@v0.5.0-alpha.5.0.20200910180754-dd1b699fc489/clientv3/concurrency"), {
			name: "go-redsync", about: "redsync over independent Redis nodes, on redigo, in a program of its own: in any version",
			language: goLanguage, folder: "redsync", program: "main", library: "github.com/go-redsync/redsync/v4", version: "4.18.1", cluster: "redlock",
			minTTL: 100 * time.Millisecond, promises: []string{"https://pkg.go.dev/github.com/go-redsync/redsync/v4"},
		}}
}

func rustLines() []line {
	return []line{{
		name: "rslock", about: "rslock (Redlock) over independent Redis nodes, all defaults",
		language: rustLanguage, folder: "rslock", program: "rslock", library: "rslock", version: "0.10.0", cluster: "redlock",
		minTTL: 10 * time.Millisecond, promises: []string{"https://docs.rs/rslock/0.10.0/rslock/"},
	}}
}
