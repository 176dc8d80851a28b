// Package etcdlock is a user of etcd's concurrency.Mutex, whatever the version of the client: 3.4 and
// later ones have it under different import paths. The programs beside it bring the client.
package etcdlock

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients/go/adapter"
)

// Mutex is concurrency.Mutex.
type Mutex interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// Session is concurrency.Session, on a client of its own.
type Session interface {
	Done() <-chan struct{}
	Mutex(prefix string) Mutex
	// Close revokes the lease, if the service answers in time, and ends the client.
	Close()
}

// Open opens a client, with a session whose lease is so many seconds.
type Open func(ctx context.Context, servers []string, seconds int, options []grpc.DialOption) (Session, error)

// Serve tests the mutex of a client. module is the one that has it.
func Serve(open Open, module string) {
	adapter.Serve(func(p *adapter.Program) adapter.Lock {
		return &lock{program: p, open: open, module: module, held: map[string]*grant{}}
	})
}

// lock uses one session until that is over or the outcome of a request is unknown, as the library means
// it to be used.
type lock struct {
	program *adapter.Program
	open    Open
	module  string
	servers []string
	ttl     time.Duration
	session Session // nil: none is open
	watch   *keepalives
	held    map[string]*grant
}

type grant struct {
	mutex Mutex
	done  chan struct{} // closes at the release
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.servers, l.ttl = o.Servers, o.TTL
	// "Done returns a channel that closes when the lease is orphaned, expires, or is otherwise no longer being refreshed"
	// (https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency#Session.Done).
	return adapter.Loaded(adapter.Abilities{"lease": true, "watchdog": true, "notifies": true}, l.module), nil
}

// current returns the session, a new one if there is none that the library still holds for good. A
// request that is lost with the service's leader would be answered only after 5 s: it is sent again
// before that.
func (l *lock) current(ctx context.Context) (Session, error) {
	if l.session != nil {
		select {
		case <-l.session.Done():
			l.drop()
		default:
			return l.session, nil
		}
	}
	l.watch = &keepalives{}
	ctx, cancel := context.WithTimeout(ctx, max(l.ttl, time.Second))
	defer cancel()
	s, err := l.open(ctx, l.servers, int((l.ttl+time.Second-1)/time.Second), l.watch.options())
	if err != nil {
		return nil, err
	}
	l.session = s
	return s, nil
}

func (l *lock) drop() {
	l.session.Close()
	l.session = nil
}

func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	s, err := l.current(ctx)
	for err != nil { // without a session there is no place in the queue
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(l.ttl / 10):
		}
		s, err = l.current(ctx)
	}
	m, done := s.Mutex("/picklock/"+key), make(chan error, 1)
	go func() { done <- m.Lock(ctx) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		// The library then removes its key from the queue, and waits for the answer without a limit.
		select {
		case err = <-done:
		case <-time.After(l.ttl / 2):
			l.drop()
			err = <-done
		}
	}
	if err != nil {
		if l.session != nil {
			l.drop()
		}
		if ctx.Err() != nil { // its user has given up, and what it leaves ends with the session
			err = nil
		}
		return nil, err
	}
	g := &grant{m, make(chan struct{})}
	l.held[key] = g
	lease, renewals := l.watch.listen()
	go l.tell(key, g, s, renewals)
	return &adapter.Grant{Lease: &lease}, nil
}

// tell passes on what the session learns while the lock is held.
func (l *lock) tell(key string, g *grant, s Session, renewals <-chan adapter.Lease) {
	for {
		select {
		case <-g.done:
			return
		case <-s.Done():
			_ = l.program.Lost(key) // an error ends the program at its next answer
			return
		case r := <-renewals:
			_ = l.program.Renewed(key, r) // likewise
		}
	}
}

func (l *lock) Release(key string) (bool, error) {
	g := l.held[key]
	if g == nil {
		return false, nil
	}
	delete(l.held, key)
	close(g.done)
	ctx, cancel := context.WithTimeout(context.Background(), l.ttl)
	defer cancel()
	if err := g.mutex.Unlock(ctx); err != nil {
		if l.session != nil {
			l.drop()
		}
		return false, err
	}
	return true, nil
}
