//go:build library

// pglock (https://github.com/cirello-io/pglock), a lock in a table of Postgres whose holder sends heartbeats.
//
// Its documentation (1.14.2, https://pkg.go.dev/cirello.io/pglock@v1.14.2) promises: a lock can be taken over only if its
// record has not changed for a lease. Of Client.Do it says: "When the lock loss is detected in the heartbeat, it
// is going to cancel the context passed on to f." That is the loss here.
//
// Heartbeats renew the lock and report nothing, so no lease is claimed. A lease has four heartbeats, as the library's
// defaults have it. It tries again once a lease, and the driver bounds no request beyond that: all as shipped.
package main

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"time"

	"cirello.io/pglock"
	_ "github.com/lib/pq" // the driver that the library asks for

	"github.com/picklock/picklock/clients/go/adapter"
)

const (
	beats = 4 // heartbeats a lease
	again = 50 * time.Millisecond
)

type lock struct {
	program *adapter.Program
	ttl     time.Duration
	client  *pglock.Client
	table   bool // it is there
	held    map[string]*grant
}

// grant is a call of Do.
type grant struct {
	stop    context.CancelFunc // ends the wait
	granted chan struct{}
	release chan struct{} // closes when the user releases
	done    chan struct{} // closes when all is over
	closed  error         // what Close said
	failed  error         // what Do said
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.ttl, l.held = o.TTL, map[string]*grant{}
	db, err := sql.Open("postgres", "postgres://postgres@"+o.Servers[0]+"/postgres?sslmode=disable")
	if err == nil {
		l.client, err = pglock.New(db, pglock.WithLeaseDuration(l.ttl), pglock.WithHeartbeatFrequency(l.ttl/beats))
	}
	// "ErrLockAlreadyReleased indicates that a release call cannot be fulfilled because the client does not hold the lock"
	// (https://pkg.go.dev/cirello.io/pglock@v1.14.2#pkg-variables).
	return adapter.Loaded(adapter.Abilities{"lease": false, "notifies": true, "confirms": true}, "cirello.io/pglock"), err
}

// Acquire tries again only where nothing was sent: the library gives up at the first error of its service.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	for !l.table {
		if l.table = l.client.TryCreateTable() == nil; !l.table && !pause(ctx) { // another client may be quicker
			return nil, nil
		}
	}
	for {
		g := l.do(key)
		select {
		case <-g.granted:
			return l.hold(key, g), nil
		case <-g.done:
		case <-ctx.Done():
			g.stop()
			select {
			case <-g.granted: // in the last moment
				return l.hold(key, g), nil
			case <-g.done:
			}
		}
		if !errors.Is(g.failed, pglock.ErrNotAcquired) && !unsent(g.failed) {
			return nil, g.failed
		}
		if !pause(ctx) {
			return nil, nil
		}
	}
}

// pause returns false if the wait has ended.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(again):
		return true
	}
}

// unsent says that there was no connection: the library has one before it writes.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// do runs Do, whose context outlives the wait: the library's heartbeats end with it.
func (l *lock) do(key string) *grant {
	ctx, stop := context.WithCancel(context.Background())
	g := &grant{stop: stop, granted: make(chan struct{}), release: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(g.done)
		defer stop()
		g.failed = l.client.Do(ctx, key, func(held context.Context, item *pglock.Lock) error {
			close(g.granted)
			l.program.LostAt(key, held.Done(), g.release)
			<-g.release
			g.closed = item.Close() // Do closes it, too, and says nothing of it
			return nil
		})
	}()
	return g
}

func (l *lock) hold(key string, g *grant) *adapter.Grant {
	l.held[key] = g
	return &adapter.Grant{}
}

func (l *lock) Release(key string) (bool, error) {
	g := l.held[key]
	if g == nil {
		return false, nil
	}
	delete(l.held, key)
	close(g.release)
	<-g.done
	if errors.Is(g.closed, pglock.ErrLockAlreadyReleased) {
		return false, nil
	}
	return g.closed == nil, g.closed
}

func main() {
	adapter.Serve(func(p *adapter.Program) adapter.Lock { return &lock{program: p} })
}
