package library

import (
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// memcachedExpiry says how a library's lease becomes a time to live of memcached's.
func memcachedExpiry() []clients.Option {
	return []clients.Option{{
		Name: "expiry", Default: "rounded", Safer: []string{"rounded"}, Check: adapter.Checks(adapter.OneOf("rounded", "exact")),
		About: "the time that the library is given: rounded is one second more than the lease, since memcached counts whole ticks of a second; exact is the lease, as the library's users give it, and up to a second less",
	}}
}

// databaseLines are the locks in Python on databases, caches and files.
func databaseLines() []line {
	dlock := func(name, database, cluster, about string) line {
		return line{
			name: name, variant: database, about: "sqlalchemy-dlock on " + about,
			language: pythonLanguage, folder: "sqlalchemy_dlock_locks", program: "sqlalchemy_dlock_locks", library: "sqlalchemy-dlock", version: "0.9.0", cluster: cluster,
			confirms: true, minTTL: time.Second, promises: []string{"https://sqlalchemy-dlock.readthedocs.io/en/latest/"},
		}
	}
	postgres := dlock("sqlalchemy-dlock-postgres", "postgres", "postgres", "Postgres: an advisory lock of a connection")
	postgres.cannot = map[string]string{"clock": "how long an acquire waits, it measures on the wall clock (time.time)"}
	fasteners := func(name, variant, about string) line {
		return line{
			name: name, variant: variant, about: "fasteners' " + about + ": lockf(3) on a file in a shared directory",
			language: pythonLanguage, folder: "fasteners_locks", program: "fasteners_locks", library: "fasteners", version: "0.20", cluster: "directory",
			minTTL: time.Second, promises: []string{"https://fasteners.readthedocs.io/en/latest/api/inter_process/"},
		}
	}
	rw := fasteners("fasteners-rw", "rw", "InterProcessReaderWriterLock")
	rw.kind = clients.ReadWrite
	return []line{postgres, dlock("sqlalchemy-dlock-mysql", "mysql", "mariadb", "MariaDB: GET_LOCK on a connection"), {
		name: "sherlock-memcached", variant: "memcached", about: "sherlock's MCLock on one memcached: an expiry in whole seconds",
		options:  memcachedExpiry(),
		language: pythonLanguage, folder: "sherlock_locks", program: "sherlock_locks", library: "sherlock", version: "0.4.1", cluster: "memcached",
		confirms: true, ownLeases: true, minTTL: time.Second, promises: []string{"https://sher-lock.readthedocs.io/en/latest/"},
	}, fasteners("fasteners", "lock", "InterProcessLock"), rw, {
		name: "redlock-py", about: "redlock-py over independent Redis nodes, all defaults but how often it tries",
		language: pythonLanguage, folder: "redlock_py", program: "redlock_py", library: "redlock-py", version: "1.0.8", cluster: "redlock",
		ownLeases: true, minTTL: 10 * time.Millisecond, promises: []string{"https://pypi.org/project/redlock-py/1.0.8/"},
	}, {
		name: "python-dynamodb-lock", about: "python-dynamodb-lock on DynamoDB with its heartbeats, in quarters of a second; its app_callback is the loss",
		language: pythonLanguage, folder: "dynamodb_lock_python", program: "dynamodb_lock_python", library: "python-dynamodb-lock", version: "0.9.1", cluster: "dynamodb",
		confirms: true, ownLeases: true, minTTL: 500 * time.Millisecond, promises: []string{"https://python-dynamodb-lock.readthedocs.io/en/latest/"},
	}, {
		name: "kubernetes-python", about: "the LeaderElection of Kubernetes' client in Python on a Lease, which it renews, in whole seconds",
		language: pythonLanguage, folder: "kubernetes_election", program: "kubernetes_election", library: "kubernetes", version: "37.0.2", cluster: "kubernetes",
		minTTL: 2 * time.Second, promises: []string{"https://github.com/kubernetes-client/python/blob/v37.0.2/kubernetes/leaderelection/leaderelection.py"},
	}, {
		name: "python-etcd3", about: "python-etcd3's Lock on one server of etcd: a lease in whole seconds that the holder refreshes",
		language: pythonLanguage, folder: "python_etcd3", program: "python_etcd3", library: "etcd3", version: "0.12.0", cluster: "etcd",
		confirms: true, holds: true, minTTL: time.Second, promises: []string{"https://python-etcd3.readthedocs.io/en/latest/usage.html"},
	}}
}
