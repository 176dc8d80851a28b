package library

import (
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func nodeLines() []line {
	setting := func(name, about, otherwise string) clients.Option {
		return clients.Option{Name: name, About: about, Default: otherwise, Check: adapter.Checks(adapter.ParseCount)}
	}
	semaphores := func(name, variant, cluster, about string) line {
		return line{
			name: name, variant: variant, about: "redis-semaphore's " + about,
			language: nodeLanguage, folder: "redis-semaphore", program: "locks", library: "redis-semaphore", version: "5.8.0", cluster: cluster,
			several: true, ownLeases: true, minTTL: 100 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/redis-semaphore"},
			cannot: map[string]string{"clock": "how long an acquire waits, it measures on the wall clock (Date.now)"},
		}
	}
	semaphore := semaphores("node-redis-semaphore", "semaphore", "redis", "Semaphore on one Redis, which it refreshes")
	semaphore.kind, semaphore.several, semaphore.options = clients.Semaphore, false, []clients.Option{clients.PermitsOption()}
	return append(moreNodeLines(), semaphore, semaphores("node-redis-semaphore-mutex", "mutex", "redis", "Mutex on one Redis, which it refreshes"),
		semaphores("node-redis-semaphore-redlock", "redlock", "redlock", "RedlockMutex over independent Redis nodes, which it refreshes"), line{
			name: "node-redlock", about: "node-redlock over independent Redis nodes, all defaults but how often it tries",
			language: nodeLanguage, folder: "redlock", program: "redlock", library: "redlock", version: "5.0.0-beta.2", cluster: "redlock",
			several: true, ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/redlock/v/5.0.0-beta.2"},
			options: []clients.Option{
				setting("retryCount", "how often it tries again", "what the wait has time for"),
				setting("retryDelay", "milliseconds between two tries", "200"),
				setting("retryJitter", "milliseconds that are added to it at random", "100"),
				{Name: "driftFactor", About: "share of the lease kept back for clocks that run at different speeds", Default: "0.01", Safer: []string{"0.1"}, Check: number},
			},
		})
}

func moreNodeLines() []line {
	universal := func(name, variant, cluster, about string) line {
		return line{
			name: name, variant: variant, about: "redlock-universal's " + about,
			language: nodeLanguage, folder: "redlock-universal", program: "locks", library: "redlock-universal", version: "0.8.5", cluster: cluster,
			confirms: variant == "simple", several: true, ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/redlock-universal/v/0.8.5"},
		}
	}
	return []line{{
		name: "node-sesamecare-redlock", about: "@sesamecare-oss/redlock over independent Redis nodes, all defaults but how often it tries",
		language: nodeLanguage, folder: "sesamecare-redlock", program: "redlock", library: "@sesamecare-oss/redlock", version: "1.4.0", cluster: "redlock",
		ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/@sesamecare-oss/redlock/v/1.4.0"},
		options: []clients.Option{{Name: "retryDelay", About: "milliseconds between two tries", Default: "200", Check: adapter.Checks(adapter.ParseCount)}},
	}, universal("node-redlock-universal", "simple", "redis", "lock on one Redis, all defaults but how often it tries"),
		universal("node-redlock-universal-redlock", "redlock", "redlock", "Redlock over independent Redis nodes, all defaults but how often it tries"), {
			name: "node-ioredis-lock", about: "@microfleet/ioredis-lock on one Redis, all defaults but how often it tries",
			language: nodeLanguage, folder: "ioredis-lock", program: "lock", library: "@microfleet/ioredis-lock", version: "6.0.1", cluster: "redis",
			confirms: true, several: true, ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/@microfleet/ioredis-lock/v/6.0.1"},
		}, {
			name: "node-simple-redis-mutex", about: "simple-redis-mutex on one Redis, all defaults but how often it polls; its fencing token",
			language: nodeLanguage, folder: "simple-redis-mutex", program: "lock", library: "simple-redis-mutex", version: "3.0.0", cluster: "redis",
			fencing: true, ownLeases: true, minTTL: 100 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/simple-redis-mutex/v/3.0.0"},
		}, {
			name: "node-proper-lockfile", about: "proper-lockfile: a folder made in a shared directory, whose mtime its holder updates",
			language: nodeLanguage, folder: "proper-lockfile", program: "lock", library: "proper-lockfile", version: "4.1.2", cluster: "directory",
			minTTL: 2 * time.Second, promises: []string{"https://www.npmjs.com/package/proper-lockfile/v/4.1.2"},
		}, {
			name: "node-lockfile", about: "lockfile: a file made in a shared directory, which is over when it is stale",
			language: nodeLanguage, folder: "lockfile", program: "lock", library: "lockfile", version: "1.0.4", cluster: "directory",
			minTTL: 100 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/lockfile/v/1.0.4"},
			cannot: map[string]string{"clock": "how old a lock is and how long an acquire waits, it measures on the wall clock (Date.now)"},
		}, {
			name: "node-dynamodb-lock-client", about: "dynamodb-lock-client's FailOpen on DynamoDB, with its heartbeats and tokens; an error of a heartbeat is the loss", fencing: true,
			language: nodeLanguage, folder: "dynamodb-lock-client", program: "lock", library: "dynamodb-lock-client", version: "0.7.3", cluster: "dynamodb",
			ownLeases: true, minTTL: 400 * time.Millisecond, promises: []string{"https://www.npmjs.com/package/dynamodb-lock-client/v/0.7.3"},
		}, {
			name: "node-advisory-lock", about: "advisory-lock on Postgres: an advisory lock on a connection of its own",
			language: nodeLanguage, folder: "advisory-lock", program: "lock", library: "advisory-lock", version: "2.0.0", cluster: "postgres",
			minTTL: time.Second, promises: []string{"https://www.npmjs.com/package/advisory-lock/v/2.0.0"},
		}, {
			name: "node-etcd3", about: "etcd3's Lock: a key under a lease that the library keeps alive, in whole seconds",
			language: nodeLanguage, folder: "etcd3", program: "lock", library: "etcd3", version: "1.1.2", cluster: "etcd",
			several: true, minTTL: time.Second, promises: []string{"https://microsoft.github.io/etcd3/classes/lock.html"},
		}, {
			name: "node-etcd3-election", about: "etcd3's Election: who leads holds the lock, by a key under a lease that the library keeps alive, in whole seconds",
			language: nodeLanguage, folder: "etcd3", program: "election", library: "etcd3", version: "1.1.2", cluster: "etcd",
			cancels: true, minTTL: time.Second, promises: []string{"https://microsoft.github.io/etcd3/classes/election.html"},
		}}
}
