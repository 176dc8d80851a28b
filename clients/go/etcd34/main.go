//go:build library

// etcd's concurrency.Mutex (https://etcd.io), in the client of etcd 3.4, whose import path is another than that of later ones.
//
// Its documentation (https://pkg.go.dev/go.etcd.io/etcd/clientv3/concurrency) says that a Mutex "implements the sync
// Locker interface with etcd": a lock that lasts for as long as the session of its client, which the
// library keeps alive.
package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients/go/etcdlock"
)

type session struct{ *concurrency.Session }

func (s session) Mutex(prefix string) etcdlock.Mutex { return concurrency.NewMutex(s.Session, prefix) }

func (s session) Close() {
	client := s.Client()
	s.Orphan()
	ctx, cancel := context.WithTimeout(client.Ctx(), time.Second)
	defer cancel()
	_, _ = client.Revoke(ctx, s.Lease()) // without an answer the lease ends by itself
	_ = client.Close()                   // nothing hangs on it
}

func open(ctx context.Context, servers []string, seconds int, options []grpc.DialOption) (etcdlock.Session, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: servers, DialTimeout: 2 * time.Second, DialOptions: options, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: time.Duration(seconds) * time.Second})
	if err != nil {
		return nil, err
	}
	var s *concurrency.Session
	lease, err := client.Grant(ctx, int64(seconds)) // NewSession would wait for it without a limit
	if err == nil {
		s, err = concurrency.NewSession(client, concurrency.WithLease(lease.ID), concurrency.WithTTL(seconds))
	}
	if err != nil {
		_ = client.Close() // the first error says more
		return nil, err
	}
	return session{s}, nil
}

func main() { etcdlock.Serve(open, "go.etcd.io/etcd") }
