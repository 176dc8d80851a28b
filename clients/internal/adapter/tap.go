// Package adapter is what the locks of several services share: when a request went out, how
// long to wait before the next, and how to read a lock's options. It knows no service.
package adapter

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// Tap notes when a watched command goes out on a connection: what a client
// library returns as an error does not say whether the server can have seen it.
type Tap struct {
	mu   sync.Mutex
	mark []byte
	at   int64
	n    int // how many writes carried the mark
	last int64
}

// Watch forgets what was noted and waits for bytes that contain mark.
func (t *Tap) Watch(mark string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mark, t.at, t.n, t.last = []byte(mark), 0, 0, 0
}

// Sent is the time (history.Now) right before the watched command was first
// written to the socket, 0 if that has not happened.
func (t *Tap) Sent() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// Sends is how often the watched command was written to the socket, and the time right
// before the last of them, for a library that sends it again if it is not answered.
func (t *Tap) Sends() (n int, last int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n, t.last
}

// Dialer makes connections that it watches.
func (t *Tap) Dialer(timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tapConn{c, t}, nil
	}
}

// DialerOf is Dialer for the servers of a lock's options, which may be external.
func (t *Tap) DialerOf(o clients.Options, timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := o.Dial(ctx, network, addr, timeout)
		if err != nil {
			return nil, err
		}
		return tapConn{c, t}, nil // above TLS, where a command is still legible
	}
}

// Conn watches what is written to c.
func (t *Tap) Conn(c net.Conn) net.Conn { return tapConn{c, t} }

// tapConn counts on a command being written whole by one Write, as buffered
// writers do with commands much smaller than their buffer.
type tapConn struct {
	net.Conn
	tap *Tap
}

func (c tapConn) Write(b []byte) (int, error) {
	c.tap.mu.Lock()
	if len(c.tap.mark) > 0 && bytes.Contains(b, c.tap.mark) {
		c.tap.n++
		c.tap.last = history.Now()
		if c.tap.at == 0 {
			c.tap.at = c.tap.last
		}
	}
	c.tap.mu.Unlock()
	return c.Conn.Write(b)
}

// Open shows a connection's socket to libraries that look for it.
func Open(c net.Conn) net.Conn { return openConn{c} }

// openConn is for libraries that look at the socket itself: go-redis as shipped
// asks the kernel whether a connection still lives before it uses it again.
type openConn struct{ net.Conn }

func (c openConn) SyscallConn() (syscall.RawConn, error) {
	inner := c.Conn
	if w, ok := inner.(tapConn); ok {
		inner = w.Conn
	}
	if w, ok := inner.(*tls.Conn); ok {
		inner = w.NetConn()
	}
	s, ok := inner.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}
