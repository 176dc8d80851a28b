package harness

import (
	"testing"

	"github.com/picklock/picklock/clients/all"
)

func TestServiceOf(t *testing.T) {
	for _, tt := range []struct{ lock, cluster, want string }{
		{"redis", "", "redis"},
		{"redsync", "", "redis"},
		{"redis-sentinel", "", "redis"},
		{"redis", "valkey", "valkey"},
		{"redis", "redis-aof", "redis"},
		{"etcd", "etcd-single@3.5.21", "etcd"},
		{"pgbouncer", "", "postgres"},
		{"flock", "", "files"},
		{"zookeeper", "", "zookeeper"},
		{"exec:python3 my_lock.py", "", "no service"},
		{"exec:python3 my_lock.py", "deploy/my-cluster.yml", "my-cluster"},
		{"nobody-knows", "", "no service"},
	} {
		if got := serviceOf(all.Locks(), tt.lock, tt.cluster); got != tt.want {
			t.Errorf("service of %s on %q: %q, want %q", tt.lock, tt.cluster, got, tt.want)
		}
	}
}
