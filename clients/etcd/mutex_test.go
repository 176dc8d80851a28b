package etcd

import (
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers/etcdserver"
	"github.com/picklock/picklock/history"
)

// TestEtcdLease: what is known of the lease moves on with each keepalive that was
// answered, and the loss of a revoked lease closes Lost.
func TestEtcdLease(t *testing.T) {
	t.Parallel()
	servers := etcdserver.Start(t)
	ctx := contract.Within(t, 60*time.Second)
	l := contract.Open(t, named("etcd"), "c1", contract.Addrs(servers), time.Second).(askedEtcd).etcdLock
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if g.Lease != time.Second {
		t.Errorf("lease %v, asked for 1 s", g.Lease)
	}
	since := g.Since
	for range 3 {
		select {
		case r := <-g.Renewals:
			if r.Since <= since || r.Since > history.Now() || r.Lease != g.Lease {
				t.Errorf("renewal %+v after since %d", r, since)
			}
			since = r.Since
		case <-g.Lost:
			t.Fatal("lost without a cause")
		}
	}
	s := l.current
	other, err := clientv3.New(clientv3.Config{Endpoints: contract.Addrs(servers), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Revoke(ctx, s.Lease()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Fatal("the lease was revoked and Lost never closed")
	}
	if err := l.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release: %v; want ErrNotHeld", err)
	}
	g2, err := l.Acquire(ctx, "k")
	if err != nil || g2.Token <= g.Token {
		t.Errorf("acquire by a new session: %+v, %v; want a token above %d", g2, err, g.Token)
	}
}

// TestEtcdRevokedWhileWaiting: a waiter whose place in the queue is gone queues
// up again at once.
func TestEtcdRevokedWhileWaiting(t *testing.T) {
	t.Parallel()
	servers := etcdserver.Start(t)
	ctx := contract.Within(t, 30*time.Second)
	a := contract.Open(t, named("etcd"), "a", contract.Addrs(servers), time.Second)
	b := contract.Open(t, named("etcd"), "b", contract.Addrs(servers), time.Second).(askedEtcd).etcdLock
	first, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(ctx, first); err != nil {
		t.Fatal(err)
	}
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		g   clients.Grant
		err error
	}
	done := make(chan result, 1)
	session := b.current
	go func() {
		g, err := b.Acquire(ctx, "k")
		done <- result{g, err}
	}()
	queued := func(n int64) {
		for {
			r, err := a.(askedEtcd).current.client.Get(ctx, "/picklock/k/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			if r.Count == n {
				return
			}
		}
	}
	queued(2)
	if _, err := session.client.Revoke(ctx, session.Lease()); err != nil {
		t.Fatal(err)
	}
	queued(1)
	queued(2) // although no client has released
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if r.err != nil || r.g.Token <= g.Token {
		t.Errorf("waiter: %+v; want a grant with a token above %d", r, g.Token)
	}
}

// keepalives is a stream whose answers the test sends.
type keepalives struct {
	grpc.ClientStream
	ttl int64
}

func (*keepalives) SendMsg(any) error { return nil }

func (k *keepalives) RecvMsg(m any) error {
	m.(*etcdserverpb.LeaseKeepAliveResponse).TTL = k.ttl
	return nil
}

// TestLeaseWatch: an answer counts from the time at which its request was sent,
// however many were sent since and however late it comes.
func TestLeaseWatch(t *testing.T) {
	var w leaseWatch
	fake := &keepalives{ttl: 2}
	s := &kaStream{ClientStream: fake, watch: &w}
	var reply etcdserverpb.LeaseKeepAliveResponse
	var times []int64
	for range 3 {
		times = append(times, history.Now())
		s.SendMsg(&etcdserverpb.LeaseKeepAliveRequest{})
	}
	times = append(times, history.Now())
	_, renewals := w.listen()
	for i := range 2 {
		s.RecvMsg(&reply)
		r := <-renewals
		if r.Since < times[i] || r.Since > times[i+1] || r.Lease != 2*time.Second {
			t.Errorf("answer %d: %+v, sent between %d and %d", i, r, times[i], times[i+1])
		}
	}
	before, _ := w.listen()
	fake.ttl = 0 // the lease is gone
	s.RecvMsg(&reply)
	if after, _ := w.listen(); after != before {
		t.Errorf("the answer that the lease is gone moved it on to %+v", after)
	}
}

// TestSequencerWaiting: a waiting client has a key with a revision of its own, and holds nothing.
func TestSequencerWaiting(t *testing.T) {
	t.Parallel()
	servers := etcdserver.Start(t)
	ctx := contract.Within(t, 30*time.Second)
	a := contract.Open(t, named("etcd"), "a", contract.Addrs(servers), time.Second)
	b := contract.Open(t, named("etcd"), "b", contract.Addrs(servers), time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan clients.Grant, 1)
	go func() {
		g, err := b.Acquire(ctx, "k")
		if err != nil {
			t.Error(err)
		}
		waiting <- g
	}()
	for n := 0; n < 2; {
		if n, err = lookEtcd(ctx, clients.Options{Servers: contract.Addrs(servers)[:1]}, "k"); err != nil {
			t.Fatal(err)
		}
	}
	q := contract.OpenSequencer(t, named("etcd"), contract.Addrs(servers))
	for token := g.Token + 1; token < g.Token+5; token++ { // its key's is among these
		if ok, err := q.Valid(ctx, "k", token); err != nil || ok {
			t.Errorf("token %d of a waiting client: %v, %v; want false", token, ok, err)
		}
	}
	if err := a.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	if g2 := <-waiting; g2.Token < g.Token+1 || g2.Token >= g.Token+5 {
		t.Errorf("the waiting client got token %d after %d: the test asked about others", g2.Token, g.Token)
	}
}
