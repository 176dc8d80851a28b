//go:build library

// etcd's concurrency.Mutex and concurrency.Election (https://etcd.io), in a program of its own: in any version from 3.5 on.
// The argument "election" stands for the latter, of which who leads holds the lock.
//
// Its documentation (https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency) says that a Mutex "implements the sync
// Locker interface with etcd": a lock that lasts for as long as the session of its client, which the
// library keeps alive. An Election has one leader: Campaign returns when its caller "is elected", and Resign "lets a leader
// start a new election".
package main

import (
	"context"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients/go/etcdlock"
)

type session struct{ *concurrency.Session }

func (s session) Mutex(prefix string) etcdlock.Mutex {
	if len(os.Args) > 1 && os.Args[1] == "election" {
		return election{concurrency.NewElection(s.Session, prefix)}
	}
	return concurrency.NewMutex(s.Session, prefix)
}

type election struct{ *concurrency.Election }

func (e election) Lock(ctx context.Context) error   { return e.Campaign(ctx, "picklock") }
func (e election) Unlock(ctx context.Context) error { return e.Resign(ctx) }

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

func main() { etcdlock.Serve(open, "go.etcd.io/etcd/client/v3") }
