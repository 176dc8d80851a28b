package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/picklock/picklock/history"
)

// wire notes when a watched command goes out on a connection: what a client
// library returns as an error does not say whether the server can have seen it.
type wire struct {
	mu   sync.Mutex
	mark []byte
	at   int64
	n    int // how many writes carried the mark
	last int64
}

// watch forgets what was noted and waits for bytes that contain mark.
func (w *wire) watch(mark string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark, w.at, w.n, w.last = []byte(mark), 0, 0, 0
}

// sent is the time (history.Now) right before the watched command was first
// handed to the kernel, 0 if that has not happened.
func (w *wire) sent() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// sends is how often the watched command was handed to the kernel, and the time
// right before the last of them: of a library that sends it again when it is not
// answered.
func (w *wire) sends() (n int, last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n, w.last
}

func (w *wire) dialer(timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wireConn{c, w}, nil
	}
}

// wireConn counts on a command being written whole by one Write, as buffered
// writers do with commands much smaller than their buffer.
type wireConn struct {
	net.Conn
	wire *wire
}

func (c wireConn) Write(b []byte) (int, error) {
	c.wire.mu.Lock()
	if len(c.wire.mark) > 0 && bytes.Contains(b, c.wire.mark) {
		c.wire.n++
		c.wire.last = history.Now()
		if c.wire.at == 0 {
			c.wire.at = c.wire.last
		}
	}
	c.wire.mu.Unlock()
	return c.Conn.Write(b)
}

// openWireConn is for libraries that look at the socket itself: go-redis as shipped
// asks the kernel whether a connection still lives before it uses it again.
type openWireConn struct{ net.Conn }

func (c openWireConn) SyscallConn() (syscall.RawConn, error) {
	inner := c.Conn
	if w, ok := inner.(wireConn); ok {
		inner = w.Conn
	}
	s, ok := inner.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

// jitter is a random delay of 0.5 to 1.5 times d, with d kept within 2 and 25 ms
// so that polling neither floods a server nor dominates what is measured.
func jitter(d time.Duration) time.Duration {
	d = min(max(d, 2*time.Millisecond), 25*time.Millisecond)
	return d/2 + rand.N(d)
}

// pause waits for about d (see jitter); false says that ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(jitter(d))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// withGrace gives the last request of a wait, which may be on its way when ctx
// ends, a moment to be answered: otherwise many a wait in vain would end in doubt.
func withGrace(ctx context.Context, ttl time.Duration) (context.Context, context.CancelFunc) {
	grace := context.WithoutCancel(ctx)
	end, ok := ctx.Deadline()
	if !ok {
		return grace, func() {}
	}
	return context.WithDeadline(grace, end.Add(min(max(ttl/2, 250*time.Millisecond), time.Second)))
}

// timeout is the error of an acquire that certainly got nothing before ctx
// ended; last is what stood in the way, nil if only other holders did.
func timeout(ctx context.Context, lock, key string, last error) error {
	if last != nil {
		return fmt.Errorf("%s: acquire %s: %w (last: %w)", lock, key, ctx.Err(), last)
	}
	return fmt.Errorf("%s: acquire %s: held by another: %w", lock, key, ctx.Err())
}
