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
			minTTL: time.Second, promises: []string{page},
		}
	}
	return []line{etcd("go-etcd", "etcd", "go.etcd.io/etcd/client/v3", "3.7.3", "https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency"),
		etcd("go-etcd34", "etcd34", "go.etcd.io/etcd", "0.5.0-alpha.5.0.20200910180754-dd1b699fc489", "https://pkg.go.dev/go.etcd.io/etcd@v0.5.0-alpha.5.0.20200910180754-dd1b699fc489/clientv3/concurrency"), {
			name: "go-redsync", about: "redsync over independent Redis nodes, on redigo, in a program of its own: in any version",
			language: goLanguage, folder: "redsync", program: "main", library: "github.com/go-redsync/redsync/v4", version: "4.18.1", cluster: "redlock",
			minTTL: 100 * time.Millisecond, promises: []string{"https://pkg.go.dev/github.com/go-redsync/redsync/v4"},
		}, {
			name: "go-dynamolock", about: "dynamolock on DynamoDB with its heartbeats, in a program of its own: in any version; its session monitor's call is the loss",
			language: goLanguage, folder: "dynamolock", program: "main", library: "cirello.io/dynamolock/v2", version: "2.1.0", cluster: "dynamodb",
			confirms: true, minTTL: time.Second, promises: []string{"https://pkg.go.dev/cirello.io/dynamolock/v2"},
		}, {
			name: "go-client-go", about: "client-go's leader election on a Lease, with ReleaseOnCancel, in a program of its own: in any version; one more than leaseTransitions is the token",
			language: goLanguage, folder: "client-go", program: "main", library: "k8s.io/client-go", version: "0.37.2", cluster: "kubernetes",
			fencing: true, minTTL: time.Second, promises: []string{"https://pkg.go.dev/k8s.io/client-go/tools/leaderelection"},
			options: []clients.Option{{
				Name: "request", About: "how long a request may take: unbounded, as in the library's own example, or bounded, to half the renew deadline, as in Kubernetes' components",
				Default: "unbounded", Safer: []string{"bounded"}, Check: adapter.Checks(adapter.OneOf("unbounded", "bounded")),
			}},
		}}
}
