package library

import (
	"regexp"
	"slices"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

const redissonDocs = "https://redisson.pro/docs/data-and-services/locks-and-synchronizers/"

// scaledTimeouts keeps a library's waits in the ratio to its lease that they have by default: a lease is much shorter in a
// test than the one they were made for, and would be over before the library tried once more.
var scaledTimeouts = clients.Option{
	Name: "timeouts", About: "how long it waits for an answer or a connection before it tries again: its defaults, shortened as the lease is (scaled), or as they are (library)",
	Default: "scaled", Check: adapter.Checks(adapter.OneOf("scaled", "library")),
}

// besideOption lets another thread of a client's process compete for the lock: what threads of one process share is shared by no two clients.
var besideOption = clients.Option{
	Name: "beside", About: "another thread of the process asks for the lock at the same time, and gives it back at once",
	Default: "no", Also: "yes", Check: adapter.Checks(adapter.ParseSwitch),
}

func javaLines() []line {
	wait := clients.Option{
		Name: "wait", About: "how it waits: by a call with a wait time (library), or by one without, which its user interrupts when the time is over (forever)",
		Default: "library", Also: "forever", Check: adapter.Checks(adapter.OneOf("library", "forever")),
	}
	redisson := line{
		language: javaLanguage, folder: "redisson", program: "RedissonLocks", library: "org.redisson:redisson", version: "4.7.0", cluster: "redis",
		confirms: true, vague: regexp.MustCompile(`^([12]|3\.([0-9]|10))\.`), holds: true, cancels: true, several: true, minTTL: time.Second, promises: []string{redissonDocs},
		cannot: map[string]string{"clock": "how long an acquire waits, it measures on the wall clock (System.currentTimeMillis in RedissonLock.tryLock)"},
		options: []clients.Option{{
			Name: "watchdog", About: "no lease is given, and the library renews the lock for as long as its process lives; no: the lease is --ttl; alternate: so it is for a client's first grant of a key, its third and so on",
			Default: "yes", Also: "no", Unrenewed: true, Mixed: "alternate", Check: adapter.Checks(adapter.OneOf("yes", "no", "alternate")),
		}, {
			Name: "nested", About: "how often an acquire takes the lock, as nested calls of one thread do, and a release unlocks it",
			Default: "1", Also: "2", Check: adapter.Checks(adapter.ParseCount),
		}, {
			Name: "threads", About: "which of its threads take the lock: one, or each grant has its own (each), as in a pool",
			Default: "one", Also: "each", Check: adapter.Checks(adapter.OneOf("one", "each")),
		}, wait, besideOption, scaledTimeouts},
	}
	of := func(name, variant, about string) line {
		l := redisson
		l.name, l.variant, l.about = name, variant, "Redisson's "+about
		return l
	}
	fenced := of("redisson-fenced", "fenced", "RFencedLock on one Redis: a lock with a token")
	fenced.fencing = true
	rw := of("redisson-rw", "rw", "RReadWriteLock on one Redis")
	rw.kind, rw.downgrades, rw.holds = clients.ReadWrite, true, false
	fair := of("redisson-fair", "fair", "fair lock on one Redis: waiting clients in line")
	fair.confirms = false
	semaphore := of("redisson-semaphore", "semaphore", "RPermitExpirableSemaphore on one Redis: permits with a lease")
	semaphore.ownLeases = true
	semaphore.kind, semaphore.holds, semaphore.several, semaphore.options = clients.Semaphore, false, false, []clients.Option{clients.PermitsOption(), wait, besideOption, scaledTimeouts}
	several := func(name, variant, about string) line {
		l := of(name, variant, about)
		l.cluster, l.holds, l.cancels = "redlock", false, false
		l.cannot = map[string]string{"clock": "how long an acquire waits, it measures on the wall clock (System.currentTimeMillis in RedissonMultiLock.tryLock)"}
		l.options = slices.Clone(redisson.options)
		l.options[slices.IndexFunc(l.options, func(o clients.Option) bool { return o.Name == wait.Name })] = clients.Option{
			Name: wait.Name, About: "who waits for the lock: the library, in tryLock, or its user, who calls tryLock with a waitTime of -1 again and again",
			Default: wait.Default, Also: "user", Check: adapter.Checks(adapter.OneOf("library", "user")),
		}
		return l
	}
	redlock := several("redisson-redlock", "redlock", "RedissonRedLock over independent Redis nodes, of which it needs more than half")
	redlock.confirms = false
	sentinel := of("redisson-sentinel", "sentinel", "RLock on Redis with replicas and sentinels")
	sentinel.cluster = "redis-sentinel"
	sentinel.options = append(slices.Clip(redisson.options), clients.Option{
		Name: "master", About: "the name by which the sentinels know the master", Default: "mymaster", Check: adapter.Checks(adapter.ParseMaster),
	})
	return append(append(curatorLines(), registryLines()...),
		of("redisson", "lock", "RLock on one Redis, which its watchdog renews"),
		fair,
		of("redisson-spin", "spin", "spin lock on one Redis: waiting clients try again and again"),
		fenced, rw, semaphore, redlock, several("redisson-multi", "multi", "RedissonMultiLock over independent Redis nodes, of which it needs all"), sentinel,
	)
}

func curatorLines() []line {
	of := func(name, variant, about string) line {
		return line{
			name: name, variant: variant, about: "Apache Curator's " + about,
			language: javaLanguage, folder: "curator", program: "CuratorLocks", library: "org.apache.curator:curator-recipes", version: "5.9.0", cluster: "zookeeper",
			cancels: true, several: true, minTTL: 400 * time.Millisecond, promises: []string{"https://curator.apache.org/docs/recipes-shared-reentrant-lock", "https://curator.apache.org/docs/errors"},
			options: []clients.Option{listenerOption(), besideOption, scaledTimeouts},
		}
	}
	rw := of("curator-rw", "rw", "InterProcessReadWriteLock on ZooKeeper")
	rw.kind, rw.downgrades = clients.ReadWrite, true
	semaphore := of("curator-semaphore", "semaphore", "InterProcessSemaphoreV2 on ZooKeeper")
	semaphore.kind, semaphore.several, semaphore.options = clients.Semaphore, false, []clients.Option{clients.PermitsOption(), listenerOption(), besideOption, scaledTimeouts}
	multi := of("curator-multi", "multi", "InterProcessMultiLock over two mutexes on ZooKeeper, of which it needs both")
	multi.promises = append(slices.Clip(multi.promises), "https://curator.apache.org/docs/recipes-multi-shared-lock")
	election := func(name, variant, about, page string) line {
		l := of(name, variant, about)
		l.program, l.several, l.options = "CuratorElections", false, []clients.Option{scaledTimeouts}
		l.promises = []string{"https://curator.apache.org/docs/" + page, "https://curator.apache.org/docs/errors"}
		return l
	}
	return []line{
		of("curator", "mutex", "InterProcessMutex on ZooKeeper"),
		of("curator-semaphore-mutex", "semaphore-mutex", "InterProcessSemaphoreMutex on ZooKeeper: a mutex that is not reentrant"),
		multi,
		rw, semaphore,
		election("curator-latch", "latch", "LeaderLatch on ZooKeeper: who leads holds the lock", "recipes-leader-latch"),
		election("curator-selector", "selector", "LeaderSelector on ZooKeeper: who leads holds the lock", "recipes-leader-election"),
	}
}

// registryLines are the locks of Spring's world, and jetcd's.
func registryLines() []line {
	shedlock := func(name, program, provider, cluster, about string) line {
		return line{
			name: name, about: "ShedLock's " + about,
			language: javaLanguage, folder: "shedlock", program: program, library: "net.javacrumbs.shedlock:" + provider, version: "7.10.1", cluster: cluster,
			ownLeases: true, minTTL: 100 * time.Millisecond, promises: []string{"https://github.com/lukas-krecan/ShedLock/tree/shedlock-parent-7.10.1#readme"},
		}
	}
	flag := func(name, about, otherwise string) []clients.Option {
		return []clients.Option{{Name: name, About: about, Default: otherwise, Safer: []string{"yes"}, Check: adapter.Checks(adapter.ParseSwitch)}}
	}
	jdbc := shedlock("shedlock-jdbc", "ShedLockJdbc", "shedlock-provider-jdbc-template", "postgres", "JdbcTemplate provider on Postgres, by the database's time")
	jdbc.options = flag("dbtime", "the database's clock decides what is over, as the library recommends; no: each client's own", "yes")
	redis := shedlock("shedlock-redis", "ShedLockRedis", "shedlock-provider-redis-spring", "redis", "RedisLockProvider on one Redis, all defaults")
	redis.options = flag("safeupdate", "a release and an extension compare the owner", "no")
	registry := func(name, program, service, cluster, about string) line {
		return line{
			name: name, about: "Spring Integration's " + about,
			language: javaLanguage, folder: "spring-integration", program: program, library: "org.springframework.integration:spring-integration-" + service, version: "7.1.2", cluster: cluster,
			confirms: true, cancels: true, several: true, minTTL: 100 * time.Millisecond,
			promises: []string{"https://docs.spring.io/spring-integration/reference/distributed-locks.html", "https://docs.spring.io/spring-integration/reference/" + service + ".html"},
		}
	}
	springRedis := registry("spring-redis", "RedisRegistry", "redis", "redis", "RedisLockRegistry on one Redis")
	springRedis.ownLeases = true
	springWait := clients.Option{
		Name: "wait", About: "who waits for the lock: its user, who tries again and again, or the library, in tryLock with a time",
		Default: "user", Also: "library", Check: adapter.Checks(adapter.OneOf("user", "library")),
	}
	springRedis.options = []clients.Option{{
		Name: "type", About: "how the library waits: it tries again and again (spin), or is notified of releases (pubsub)",
		Default: "spin", Also: "pubsub", Check: adapter.Checks(adapter.OneOf("spin", "pubsub")),
	}, springWait, besideOption}
	springJDBC := registry("spring-jdbc", "JdbcRegistry", "jdbc", "postgres", "JdbcLockRegistry on Postgres, by each client's own time")
	springJDBC.options = []clients.Option{springWait, besideOption}
	springJDBC.vague = regexp.MustCompile(`^([0-5]|6\.[0-3])\.`)
	return []line{
		jdbc, redis,
		springRedis, springJDBC,
		{
			name: "quartz", about: "Quartz's lock of its clustered job store on Postgres: a row, locked by a transaction for as long as that lasts",
			language: javaLanguage, folder: "quartz", program: "QuartzLocks", library: "org.quartz-scheduler:quartz", version: "2.5.2", cluster: "postgres",
			confirms: true, minTTL: time.Second,
			promises: []string{"https://javadoc.io/doc/org.quartz-scheduler/quartz/2.5.2/org/quartz/impl/jdbcjobstore/Semaphore.html"},
			options: []clients.Option{{
				Name: "by", About: "how it locks the row: select is StdRowLockSemaphore, update is UpdateLockRowSemaphore",
				Default: "select", Also: "update", Check: adapter.Checks(adapter.OneOf("select", "update")),
			}},
		},
		{
			name: "spring-zookeeper", about: "Spring Integration's ZookeeperLockRegistry on ZooKeeper: Curator's InterProcessMutex",
			language: javaLanguage, folder: "spring-zookeeper", program: "ZookeeperLocks", library: "org.springframework.integration:spring-integration-zookeeper", version: "6.5.1", cluster: "zookeeper",
			cancels: true, several: true, minTTL: 400 * time.Millisecond, promises: []string{"https://docs.spring.io/spring-integration/reference/distributed-locks.html", "https://docs.spring.io/spring-integration/reference/zookeeper.html"},
		},
		{
			name: "fabric8", about: "fabric8's LeaderElector on a Kubernetes Lease, which it renews, in whole seconds",
			language: javaLanguage, folder: "fabric8", program: "LeaderElection", library: "io.fabric8:kubernetes-client", version: "8.0.0", cluster: "kubernetes",
			cancels: true, minTTL: time.Second,
			promises: []string{"https://javadoc.io/doc/io.fabric8/kubernetes-client-api/8.0.0/io/fabric8/kubernetes/client/extended/leaderelection/LeaderElector.html"},
			options: []clients.Option{{
				Name: "identity", About: "by what an elector is known: each by a name of its own (grant), or all of a process by one, as by the name of a pod (client)",
				Default: "grant", Also: "client", Safer: []string{"grant"}, Check: adapter.Checks(adapter.OneOf("grant", "client")),
			}, {
				Name: "release", About: "releaseOnCancel: a leader that stops frees the Lease; no: it stays taken until it has ended",
				Default: "yes", Check: adapter.Checks(adapter.ParseSwitch),
			}},
		},
		{
			name: "kubernetes-java", about: "the LeaderElector of Kubernetes' official client for Java on a Lease, which it renews, in whole seconds",
			language: javaLanguage, folder: "kubernetes", program: "KubernetesElection", library: "io.kubernetes:client-java-extended", version: "25.0.0", cluster: "kubernetes",
			cancels: true, minTTL: time.Second,
			promises: []string{"https://github.com/kubernetes-client/java/blob/v25.0.0/extended/src/main/java/io/kubernetes/client/extended/leaderelection/LeaderElector.java"},
		},
		{
			name: "dynamodb-lock-client", about: "Amazon's lock client for DynamoDB with its heartbeats; its session monitor's call is the loss",
			language: javaLanguage, folder: "dynamodb-lock-client", program: "LockClient", library: "com.amazonaws:dynamodb-lock-client", version: "1.4.0", cluster: "dynamodb",
			confirms: true, holds: true, ownLeases: true, minTTL: 400 * time.Millisecond, promises: []string{"https://github.com/awslabs/amazon-dynamodb-lock-client#readme"},
		},
		{
			name: "hazelcast", about: "Hazelcast's FencedLock in its CP Subsystem, held by a session that the client keeps up; its fence is the token",
			language: javaLanguage, folder: "hazelcast", program: "HazelcastLock", library: "com.hazelcast:hazelcast", version: "5.3.8", cluster: "hazelcast",
			fencing: true, confirms: true, holds: true, minTTL: 2 * time.Second, promises: []string{"https://docs.hazelcast.org/docs/5.3.7/javadoc/com/hazelcast/cp/lock/FencedLock.html"},
		},
		{
			name: "jetcd", about: "jetcd's Lock on etcd, under a lease that the library keeps alive, in whole seconds",
			language: javaLanguage, folder: "jetcd", program: "JetcdLocks", library: "io.etcd:jetcd-core", version: "0.8.7", cluster: "etcd",
			cancels: true, several: true, minTTL: time.Second, promises: []string{"https://javadoc.io/doc/io.etcd/jetcd-core/0.8.7/io/etcd/jetcd/Lock.html"},
		},
	}
}
