//go:build library

// zk.Lock (https://github.com/go-zookeeper/zk) on ZooKeeper, as its documentation shows it.
//
// That (1.0.4, https://pkg.go.dev/github.com/go-zookeeper/zk@v1.0.4#Lock) promises "a mutual exclusion lock" whose Lock "will
// wait to return until the lock is acquired or an error occurs". The lock's node is ephemeral: it lasts for as long as
// the session, which the connection keeps alive and replaces after its end. Nothing tells the holder of a lock about that.
//
// Lock cannot give up: to end a wait takes the end of the connection, so each key has a connection of its own. A node
// that Lock has made before it failed may still be in the line. A release that fails, or has no answer
// for a lease, ends its connection, too.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients/go/adapter"
)

type lock struct {
	servers     []string
	ttl         time.Duration
	connections map[string]*zk.Conn
	held        map[string]*zk.Lock
}

// silent drops the library's log.
type silent struct{}

func (silent) Printf(string, ...any) {}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	zk.DefaultLogger = silent{}
	l.servers, l.ttl, l.connections, l.held = o.Servers, o.TTL, map[string]*zk.Conn{}, map[string]*zk.Lock{}
	// A node that could be deleted was there until then. Lock has no context, so that nobody can cancel it.
	return adapter.Loaded(adapter.Abilities{"lease": false, "confirms": true, "cancels": false}, "github.com/go-zookeeper/zk"), nil
}

func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	c := l.connections[key]
	if c == nil {
		var err error
		if c, _, err = zk.Connect(l.servers, l.ttl); err != nil {
			return nil, errors.Join(adapter.ErrNotSent, err)
		}
		l.connections[key] = c
	}
	m, done := zk.NewLock(c, "/picklock/"+key, zk.WorldACL(zk.PermAll)), make(chan error, 1)
	go func() { done <- m.Lock() }()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		l.held[key] = m
		return &adapter.Grant{}, nil
	case <-ctx.Done():
		l.leave(key)
		return nil, errors.New("the wait was ended with its connection, whose node may still be in the line")
	}
}

// leave ends a connection. It asks the service to end the session.
func (l *lock) leave(key string) {
	l.connections[key].Close()
	delete(l.connections, key)
}

func (l *lock) Release(key string) (bool, error) {
	m := l.held[key]
	if m == nil {
		return false, nil
	}
	delete(l.held, key)
	done := make(chan error, 1)
	go func() { done <- m.Unlock() }()
	select {
	case err := <-done:
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotLocked) {
			return false, nil
		}
		if err != nil { // the node may still be there
			l.leave(key)
		}
		return err == nil, err
	case <-time.After(l.ttl):
		l.leave(key)
		return false, errors.New("no answer")
	}
}

func main() { adapter.Serve(func(*adapter.Program) adapter.Lock { return &lock{} }) }
