package etcdlock

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients/go/adapter"
)

// keepalives observes when the lease was last renewed, which the library does not report: when the
// request went out that was answered.
type keepalives struct {
	mu      sync.Mutex
	last    adapter.Lease
	listens chan adapter.Lease // of the grant in force
}

// ttl is what the answers to a grant and to a keepalive have in every version.
type ttl interface{ GetTTL() int64 }

func (k *keepalives) answered(sent int64, answer any) {
	a, ok := answer.(ttl)
	if !ok || a.GetTTL() <= 0 {
		return
	}
	r := adapter.Lease{For: time.Duration(a.GetTTL()) * time.Second, Since: sent}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Since <= k.last.Since {
		return
	}
	k.last = r
	select {
	case k.listens <- r:
	default: // no grant is in force, or the program is behind: the next renewal says more
	}
}

// listen returns the newest lease, and a channel for those after it.
func (k *keepalives) listen() (adapter.Lease, <-chan adapter.Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listens = make(chan adapter.Lease, 16)
	return k.last, k.listens
}

func (k *keepalives) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(k.unary), grpc.WithChainStreamInterceptor(k.stream)}
}

func (k *keepalives) unary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	sent := adapter.Monotonic()
	err := next(ctx, method, request, reply, cc, opts...)
	if err == nil {
		k.answered(sent, reply)
	}
	return err
}

func (k *keepalives) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := next(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &timed{ClientStream: s, seen: k}, nil
}

// timed is a stream whose requests are answered in their order.
type timed struct {
	grpc.ClientStream
	seen *keepalives

	mu   sync.Mutex
	sent []int64 // of the requests that are not answered yet
}

func (t *timed) SendMsg(m any) error {
	t.mu.Lock()
	t.sent = append(t.sent, adapter.Monotonic())
	t.mu.Unlock()
	return t.ClientStream.SendMsg(m)
}

func (t *timed) RecvMsg(m any) error {
	if err := t.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	if _, ok := m.(ttl); !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sent) > 0 {
		t.seen.answered(t.sent[0], m)
		t.sent = t.sent[1:]
	}
	return nil
}
