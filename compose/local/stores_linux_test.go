package local

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/picklock/picklock/compose"
)

// store is a service as something that keeps numbers.
type store interface {
	put(ctx context.Context, key string, n int) error
	get(ctx context.Context, key string) (int, error) // 0 for none
	close()
}

type redisStore struct{ *redis.Client }

func openRedis(_ context.Context, servers []string) (store, error) {
	return redisStore{redis.NewClient(&redis.Options{Addr: servers[0], MaxRetries: -1})}, nil
}
func (s redisStore) put(ctx context.Context, key string, n int) error {
	return s.Set(ctx, key, n, 0).Err()
}
func (s redisStore) get(ctx context.Context, key string) (int, error) {
	n, err := s.Get(ctx, key).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}
func (s redisStore) close() { s.Close() }

type etcdStore struct{ *clientv3.Client }

func openEtcd(_ context.Context, servers []string) (store, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: servers, Logger: zap.NewNop()})
	return etcdStore{c}, err
}
func (s etcdStore) put(ctx context.Context, key string, n int) error {
	_, err := s.Put(ctx, key, strconv.Itoa(n))
	return err
}
func (s etcdStore) get(ctx context.Context, key string) (int, error) {
	r, err := s.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return 0, err
	}
	return strconv.Atoi(string(r.Kvs[0].Value))
}
func (s etcdStore) close() { s.Close() }

type zkStore struct{ *zk.Conn }

func openZooKeeper(_ context.Context, servers []string) (store, error) {
	c, _, err := zk.Connect(servers, 5*time.Second, zk.WithLogger(silent{}))
	return zkStore{c}, err
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (s zkStore) put(_ context.Context, key string, n int) error {
	_, err := s.Set("/"+key, []byte(strconv.Itoa(n)), -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = s.Create("/"+key, []byte(strconv.Itoa(n)), 0, zk.WorldACL(zk.PermAll))
	}
	return err
}
func (s zkStore) get(_ context.Context, key string) (int, error) {
	if _, err := s.Sync("/"); err != nil {
		return 0, err
	}
	text, _, err := s.Get("/" + key)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}
func (s zkStore) close() { s.Close() }

type postgresStore struct{ conn *pgx.Conn }

func openPostgres(ctx context.Context, servers []string) (store, error) {
	c, err := pgx.Connect(ctx, "postgres://postgres@"+servers[0]+"/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	// One after the other: two at once fail.
	_, err = c.Exec(ctx, "BEGIN; SELECT pg_advisory_xact_lock(1); CREATE TABLE IF NOT EXISTS kept (k text PRIMARY KEY, n int); COMMIT")
	if err != nil {
		c.Close(ctx)
	}
	return postgresStore{c}, err
}
func (s postgresStore) put(ctx context.Context, key string, n int) error {
	_, err := s.conn.Exec(ctx, "INSERT INTO kept VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET n = $2", key, n)
	return err
}
func (s postgresStore) get(ctx context.Context, key string) (n int, err error) {
	err = s.conn.QueryRow(ctx, "SELECT n FROM kept WHERE k = $1", key).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
func (s postgresStore) close() { s.conn.PgConn().Conn().Close() }

// kept are the services that keep their state in files: how to speak to them, and what
// makes them answer before it is on the disk.
var kept = []struct {
	cluster string
	open    opener
	unsafe  func(l *compose.Local) // nil: it is as it comes
}{
	{"redis-aof-always", openRedis, nil},
	{"redis-aof", openRedis, func(*compose.Local) {}}, // appendfsync everysec
	{"etcd", openEtcd, nil},
	{"etcd", openEtcd, func(l *compose.Local) { l.Command = append(l.Command, "--unsafe-no-fsync") }},
	{"zookeeper", openZooKeeper, nil},
	{"zookeeper", openZooKeeper, func(l *compose.Local) {
		l.Command = slices.Insert(l.Command, 1, "-Dzookeeper.forceSync=no")
	}},
	{"postgres", openPostgres, nil},
	{"postgres", openPostgres, func(l *compose.Local) {
		l.Command[2] = strings.Replace(l.Command[2], "exec postgres ", "exec postgres -c fsync=off ", 1)
	}},
}
