package library

import "time"

func rustLines() []line {
	return []line{{
		name: "rslock", about: "rslock (Redlock) over independent Redis nodes, all defaults",
		language: rustLanguage, folder: "rslock", program: "rslock", library: "rslock", version: "0.10.0", cluster: "redlock",
		minTTL: 10 * time.Millisecond, promises: []string{"https://docs.rs/rslock/0.10.0/rslock/"},
	}, {
		name: "rust-sqlx", about: "sqlx's PgAdvisoryLock on Postgres: a session-level advisory lock on a connection of a pool",
		language: rustLanguage, folder: "sqlx", program: "client", library: "sqlx", version: "0.9.0", cluster: "postgres",
		minTTL: time.Second, promises: []string{"https://docs.rs/sqlx/0.9.0/sqlx/postgres/struct.PgAdvisoryLock.html"},
	}, {
		name: "rust-etcd-client", about: "etcd-client's lock on etcd, under a lease that its user renews, in whole seconds",
		language: rustLanguage, folder: "etcd-client", program: "client", library: "etcd-client", version: "0.21.1", cluster: "etcd",
		tools:  []tool{{"protoc", "apt install protobuf-compiler"}}, // the library compiles etcd's own files
		minTTL: time.Second, promises: []string{"https://docs.rs/etcd-client/0.21.1/etcd_client/struct.LockClient.html"},
	}, {
		name: "rust-kube-leader-election", about: "kube-leader-election on a Kubernetes Lease, in whole seconds, all defaults",
		language: rustLanguage, folder: "kube-leader-election", program: "client", library: "kube-leader-election", version: "0.44.0", cluster: "kubernetes",
		confirms: true, minTTL: time.Second, promises: []string{"https://docs.rs/kube-leader-election/0.44.0/kube_leader_election/"},
	}}
}
