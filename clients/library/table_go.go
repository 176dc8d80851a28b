package library

import (
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func goLines() []line {
	etcd := func(name, folder, library, version, page string) line {
		return line{
			name: name, about: "etcd's concurrency.Mutex, in a program of its own: in any version of " + library,
			language: goLanguage, folder: folder, program: "main", library: library, version: version, cluster: "etcd",
			cancels: true, minTTL: time.Second, promises: []string{page},
		}
	}
	election := etcd("go-etcd-election", "etcd", "go.etcd.io/etcd/client/v3", "3.7.3", "https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency#Election")
	election.variant, election.about = "election", "etcd's concurrency.Election, in a program of its own: who leads holds the lock"
	return []line{election, etcd("go-etcd", "etcd", "go.etcd.io/etcd/client/v3", "3.7.3", "https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency"),
		etcd("go-etcd34", "etcd34", "go.etcd.io/etcd", "0.5.0-alpha.5.0.20200910180754-dd1b699fc489", "https://pkg.go.dev/go.etcd.io/etcd@v0.5.0-alpha.5.0.20200910180754-dd1b699fc489/clientv3/concurrency"), {
			name: "go-redsync", about: "redsync over independent Redis nodes, on redigo, in a program of its own: in any version",
			language: goLanguage, folder: "redsync", program: "main", library: "github.com/go-redsync/redsync/v4", version: "4.18.1", cluster: "redlock",
			cancels: true, several: true, ownLeases: true, minTTL: 100 * time.Millisecond, promises: []string{"https://pkg.go.dev/github.com/go-redsync/redsync/v4"},
		}, {
			name: "go-dynamolock", about: "dynamolock on DynamoDB with its heartbeats, in a program of its own: in any version; its session monitor's call is the loss",
			language: goLanguage, folder: "dynamolock", program: "main", library: "cirello.io/dynamolock/v2", version: "2.1.0", cluster: "dynamodb",
			confirms: true, cancels: true, several: true, ownLeases: true, minTTL: time.Second, promises: []string{"https://pkg.go.dev/cirello.io/dynamolock/v2"},
		}, {
			name: "go-client-go", about: "client-go's leader election on a Lease, with ReleaseOnCancel, in a program of its own: in any version; one more than leaseTransitions is the token",
			language: goLanguage, folder: "client-go", program: "main", library: "k8s.io/client-go", version: "0.37.2", cluster: "kubernetes",
			fencing: true, cancels: true, minTTL: time.Second, promises: []string{"https://pkg.go.dev/k8s.io/client-go/tools/leaderelection"},
			options: []clients.Option{{
				Name: "request", About: "how long a request may take: unbounded, as in the library's own example, or bounded, to half the renew deadline, as in Kubernetes' components",
				Default: "unbounded", Safer: []string{"bounded"}, Check: adapter.Checks(adapter.OneOf("unbounded", "bounded")),
			}},
		}, {
			name: "go-pglock", about: "pglock on Postgres: a row that the holder's heartbeats keep; the end of the context of Do is the loss",
			language: goLanguage, folder: "pglock", program: "main", library: "cirello.io/pglock", version: "1.14.2", cluster: "postgres",
			confirms: true, cancels: true, minTTL: time.Second, promises: []string{"https://pkg.go.dev/cirello.io/pglock@v1.14.2"},
		}, {
			name: "go-redislock", about: "redislock on one Redis, in a program of its own: in any version",
			language: goLanguage, folder: "redislock", program: "main", library: "github.com/bsm/redislock", version: "0.9.4", cluster: "redis",
			cancels: true, several: true, ownLeases: true, minTTL: 100 * time.Millisecond, promises: []string{"https://pkg.go.dev/github.com/bsm/redislock@v0.9.4"},
		}, {
			name: "go-gocron-redis", about: "gocron-redis-lock, the locker of gocron's jobs: redsync on one Redis",
			language: goLanguage, folder: "gocron-redis-lock", program: "main", library: "github.com/go-co-op/gocron-redis-lock/v2", version: "2.1.0", cluster: "redis",
			cancels: true, ownLeases: true, minTTL: 100 * time.Millisecond, promises: []string{"https://pkg.go.dev/github.com/go-co-op/gocron-redis-lock/v2@v2.1.0"},
		}, {
			name: "go-zk", about: "zk.Lock on one connection a key, in a program of its own: in any version",
			language: goLanguage, folder: "zk", program: "main", library: "github.com/go-zookeeper/zk", version: "1.0.4", cluster: "zookeeper",
			confirms: true, minTTL: 400 * time.Millisecond, promises: []string{"https://pkg.go.dev/github.com/go-zookeeper/zk@v1.0.4#Lock"},
		}, {
			name: "go-rueidislock", about: "rueidislock on one Redis, in a program of its own: in any version of rueidis; the end of the grant's context is the loss",
			language: goLanguage, folder: "rueidislock", program: "main", library: "github.com/redis/rueidis", version: "1.0.79", cluster: "redis",
			cancels: true, several: true, minTTL: 50 * time.Millisecond, promises: []string{"https://github.com/redis/rueidis/tree/v1.0.79/rueidislock#readme"},
		}, {
			name: "go-consul", about: "Consul's api.Lock on a session of its own, in a program of its own: in any version; its channel is the loss",
			language: goLanguage, folder: "consul", program: "main", library: "github.com/hashicorp/consul/api", version: "1.34.5", cluster: "consul",
			cancels: true, several: true, minTTL: time.Second, promises: []string{"https://pkg.go.dev/github.com/hashicorp/consul/api@v1.34.5#Lock.Lock"},
		}}
}
