package harness

import (
	"path/filepath"
	"strings"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
)

// serviceOf names the service behind a lock, so that the locks of one can be looked at
// together: that of its cluster, whatever the shape it is run in.
func serviceOf(locks *clients.Table, lock, cluster string) string {
	started := cluster != "" && cluster != "none" && !strings.HasPrefix(cluster, compose.EndpointPrefix)
	if info, err := locks.Lookup(lock); err == nil && !started {
		cluster = info.Cluster
	}
	cluster, _, _ = compose.Version(cluster)
	cluster = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(cluster), ".yml"), ".yaml")
	switch family, _, _ := strings.Cut(cluster, "-"); family {
	case ".", "none":
		return "no service"
	case "redlock":
		return "redis"
	case "pgbouncer":
		return "postgres"
	case "directory":
		return "files"
	case "redis", "etcd", "postgres":
		return family
	}
	return cluster
}
