// Package all names every lock and every kind of protected resource that picklock
// brings along. It knows the services' packages and nothing of how they work. Only
// programs import it: what finds a lock is handed a table.
package all

import (
	"slices"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/consul"
	"github.com/picklock/picklock/clients/dynamodb"
	"github.com/picklock/picklock/clients/etcd"
	"github.com/picklock/picklock/clients/exec"
	"github.com/picklock/picklock/clients/file"
	"github.com/picklock/picklock/clients/kubernetes"
	"github.com/picklock/picklock/clients/library"
	"github.com/picklock/picklock/clients/lockfree"
	"github.com/picklock/picklock/clients/mariadb"
	"github.com/picklock/picklock/clients/memcached"
	"github.com/picklock/picklock/clients/nats"
	"github.com/picklock/picklock/clients/postgres"
	"github.com/picklock/picklock/clients/redis"
	"github.com/picklock/picklock/clients/register"
	registeretcd "github.com/picklock/picklock/clients/register/etcd"
	registerpostgres "github.com/picklock/picklock/clients/register/postgres"
	registerredis "github.com/picklock/picklock/clients/register/redis"
	"github.com/picklock/picklock/clients/s3"
	"github.com/picklock/picklock/clients/zookeeper"
)

// Locks is the table of all locks, and of programs of the user's ("exec:COMMAND").
func Locks() *clients.Table {
	return clients.NewTable(exec.Program, lines()...)
}

func lines() []clients.Info {
	return slices.Concat(
		consul.Locks(),
		dynamodb.Locks(),
		etcd.Locks(),
		file.Locks(),
		kubernetes.Locks(),
		library.Locks(),
		lockfree.Locks(),
		mariadb.Locks(),
		memcached.Locks(),
		nats.Locks(),
		postgres.Locks(),
		redis.Locks(),
		s3.Locks(),
		zookeeper.Locks(),
	)
}

// Backends is what the protected resource can be made of.
func Backends() register.Backends {
	return register.Backends{
		register.OwnServer(),
		registerpostgres.Backend(),
		registerredis.Backend(),
		registeretcd.Backend(),
	}
}
