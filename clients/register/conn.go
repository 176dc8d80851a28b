package register

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Conn is one client's connection to a resource that is not picklock's own server. It dials
// when a request needs it, closes after an error, and carries one request at a time.
type Conn[C io.Closer] struct {
	Addr        string
	FencingMode FencingMode
	Dial        func(ctx context.Context, addr string) (C, error)

	mu   sync.Mutex
	conn *C
}

// Do lets send carry out one request over the connection. Any error but a refusal closes
// the connection.
func (c *Conn[C]) Do(ctx context.Context, r Request, send func(C) (Reply, error)) (Reply, error) {
	if err := c.FencingMode.Ready(r); err != nil {
		return Reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Reply{}, c.NotSent(err)
	}
	if c.conn == nil {
		conn, err := c.Dial(ctx, c.Addr)
		if err != nil {
			return Reply{}, c.NotSent(err)
		}
		c.conn = &conn
	}
	reply, err := send(*c.conn)
	if err != nil && !errors.Is(err, ErrRefused) {
		_ = c.drop() // the kernel goes on sending what it has accepted
	}
	return reply, err
}

// NotSent is the error of a request that certainly had no effect.
func (c *Conn[C]) NotSent(err error) error {
	return fmt.Errorf("register %s: not sent: %w", c.Addr, err)
}

// InDoubt is the error of a request that may have been carried out, or may yet be.
func (c *Conn[C]) InDoubt(r Request, err error) error {
	return fmt.Errorf("register %s: %s: %w: %w", c.Addr, r.F, ErrUnknown, err)
}

func (c *Conn[C]) drop() error {
	if c.conn == nil {
		return nil
	}
	conn := *c.conn
	c.conn = nil
	return conn.Close()
}

// Close implements Resource.
func (c *Conn[C]) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop()
}
