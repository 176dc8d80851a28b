package etcd

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// etcdSession has a client of its own: closing it is the only way to end the
// clean-up in Mutex.Lock, which waits without a deadline.
type etcdSession struct {
	*concurrency.Session
	client *clientv3.Client
	watch  leaseWatch
	lost   <-chan struct{} // closes when the client knows that the lease is over
}

func (s *etcdSession) ended() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// session returns the session in use or makes one.
func (l *etcdLock) session(ctx context.Context) (*etcdSession, error) {
	l.mu.Lock()
	s := l.current
	l.mu.Unlock()
	if s != nil {
		if !s.ended() {
			return s, nil
		}
		l.giveUp(s, false)
	}
	s = &etcdSession{watch: leaseWatch{queued: l.options.TellWaiting, delay: l.delay}}
	ttl := l.options.TTL
	var err error
	s.client, err = newClient(l.options, clientv3.Config{
		DialOptions: s.watch.dialOptions(),
		// gRPC pings every 10 s at most, but the timeout is also that of TCP for
		// data in flight, of which a keepalive puts some there every ttl/3.
		DialKeepAliveTime:    max(ttl/2, 10*time.Second),
		DialKeepAliveTimeout: ttl / 2,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(ttl, time.Second))
	defer cancel()
	seconds := int((ttl + l.delay + time.Second - 1) / time.Second)
	lease, err := s.client.Grant(ctx, int64(seconds))
	if err == nil {
		s.Session, err = concurrency.NewSession(s.client, concurrency.WithLease(lease.ID), concurrency.WithTTL(seconds))
	}
	if err != nil {
		s.client.Close()
		return nil, err
	}
	s.lost = s.Done()
	if l.delay > 0 {
		s.lost = l.keepWithin(s)
	}
	l.mu.Lock()
	l.current = s
	l.mu.Unlock()
	return s, nil
}

// giveUp gives up a session. It revokes the lease for the sake of waiting clients, without
// waiting for the answer; otherwise the lease runs out.
func (l *etcdLock) giveUp(s *etcdSession, revoke bool) {
	l.mu.Lock()
	if l.current == s {
		l.current = nil
	}
	l.mu.Unlock()
	if !revoke {
		s.client.Close()
		return
	}
	l.group.Go(func() {
		s.Orphan()
		ctx, cancel := context.WithTimeout(s.client.Ctx(), min(l.options.TTL, time.Second))
		defer cancel()
		_, _ = s.client.Revoke(ctx, s.Lease())
		s.client.Close()
	})
}

// leaseWatch observes what the etcd client sends and receives, without changing it. The
// library's session reports neither when the keepalive that was answered last went out nor
// whether a delete found its key.
type leaseWatch struct {
	queued func()        // called when the mutex's transaction was answered; may be nil
	delay  time.Duration // the part of the lease that is not the holder's

	mu      sync.Mutex
	last    clients.Renewal        // the newest answered grant or keepalive
	listens chan<- clients.Renewal // of the grant in force, nil if none
	deleted map[string]int64       // by key: how many keys an answered delete removed
}

// answered records an answer; sent is when its request went out. Requests are
// answered in order, so a later one never proves less, save on an older stream.
func (w *leaseWatch) answered(sent, ttl int64) {
	if ttl <= 0 {
		return // the lease is gone
	}
	r := clients.Renewal{Since: sent, Lease: time.Duration(ttl)*time.Second - w.delay}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Since <= w.last.Since {
		return
	}
	w.last = r
	select {
	case w.listens <- r:
	default:
	}
}

func (w *leaseWatch) newest() clients.Renewal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// listen returns the newest renewal and a channel for those after it.
func (w *leaseWatch) listen() (clients.Renewal, <-chan clients.Renewal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan clients.Renewal, 16)
	w.listens = c
	return w.last, c
}

// takeDeleted returns how many keys the answered delete of key removed.
func (w *leaseWatch) takeDeleted(key string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.deleted[key]
	delete(w.deleted, key)
	return n
}

// forgetDeleted returns how many keys all answered deletes removed since it was asked
// last.
func (w *leaseWatch) forgetDeleted() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int64(0)
	for _, d := range w.deleted {
		n += d
	}
	clear(w.deleted)
	return n
}

func (w *leaseWatch) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.unary), grpc.WithChainStreamInterceptor(w.stream)}
}

func (w *leaseWatch) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	sent := history.Now()
	err := next(ctx, method, req, reply, cc, opts...)
	if err != nil {
		return err
	}
	switch reply := reply.(type) {
	case *etcdserverpb.LeaseGrantResponse:
		w.answered(sent, reply.TTL)
	case *etcdserverpb.TxnResponse:
		// The library's mutex puts its key in line by a transaction.
		if w.queued != nil {
			w.queued()
		}
	case *etcdserverpb.DeleteRangeResponse:
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.deleted == nil {
			w.deleted = map[string]int64{}
		}
		w.deleted[string(req.(*etcdserverpb.DeleteRangeRequest).Key)] = reply.Deleted
	}
	return nil
}

func (w *leaseWatch) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := next(ctx, desc, cc, method, opts...)
	if err != nil || method != etcdserverpb.Lease_LeaseKeepAlive_FullMethodName {
		return s, err
	}
	return &kaStream{ClientStream: s, watch: w}, nil
}

// kaStream pairs each keepalive's answer with its request: the server answers
// those of one stream in their order.
type kaStream struct {
	grpc.ClientStream
	watch *leaseWatch

	mu   sync.Mutex
	sent []int64
}

func (s *kaStream) SendMsg(m any) error {
	s.mu.Lock()
	s.sent = append(s.sent, history.Now())
	s.mu.Unlock()
	return s.ClientStream.SendMsg(m)
}

func (s *kaStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	s.mu.Lock()
	if len(s.sent) == 0 {
		s.mu.Unlock()
		return nil
	}
	sent := s.sent[0]
	s.sent = s.sent[1:]
	s.mu.Unlock()
	if reply, ok := m.(*etcdserverpb.LeaseKeepAliveResponse); ok {
		s.watch.answered(sent, reply.TTL)
	}
	return nil
}
