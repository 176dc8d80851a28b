package register

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

var (
	// ErrUnknown marks a request that may have been carried out, or may yet be:
	// the kernel goes on sending after a cut heals what it has accepted, even if the
	// client has given up.
	ErrUnknown = errors.New("outcome unknown")
	// ErrRefused marks a request that the register refused by its fencing mode; it
	// certainly had no effect. The error's text is the register's reason.
	ErrRefused = errors.New("refused")
)

type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Client is one process's connection to the register: made when it is first needed and again after
// a failure, with one request at a time.
type Client struct {
	addr string

	mu   sync.Mutex
	id   int64
	conn net.Conn
	br   *bufio.Reader
}

// New returns a client of the register at addr (host:port). It does not connect.
func New(addr string) *Client { return &Client{addr: addr} }

// Do sends one request, once, and waits for its reply until ctx ends. An error
// that wraps ErrUnknown means an unknown outcome; every other error, ErrRefused
// among them, means that the request certainly had and will have no effect.
func (c *Client) Do(ctx context.Context, r Request) (Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Reply{}, fmt.Errorf("register %s: not sent: %w", c.addr, err)
	}
	c.id++
	r.ID = c.id
	line, err := json.Marshal(r)
	if err != nil {
		return Reply{}, fmt.Errorf("register %s: not sent: %w", c.addr, err)
	}
	line = append(line, '\n')
	if len(line) > maxLine {
		return Reply{}, fmt.Errorf("register %s: not sent: request of %d bytes, at most %d", c.addr, len(line), maxLine)
	}
	if err := c.connect(ctx); err != nil {
		return Reply{}, fmt.Errorf("register: not sent: %w", err)
	}
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	a, sent, err := c.exchange(r.ID, line)
	if !stop() && err == nil {
		// The end of ctx came with the reply and may have spoiled the deadline.
		c.drop()
	}
	switch {
	case err != nil:
		c.drop()
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
		if !sent {
			return Reply{}, fmt.Errorf("register %s: not sent: %w", c.addr, err)
		}
		return Reply{}, fmt.Errorf("register %s: %s: %w: %w", c.addr, r.F, ErrUnknown, err)
	case a.OK:
		return a.Reply, nil
	case a.Refused:
		return Reply{}, refusal(a.Error)
	}
	return Reply{}, fmt.Errorf("register %s: %s", c.addr, a.Error)
}

// Close drops the connection. A later Do makes a new one.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	return nil
}

func (c *Client) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn, c.br = conn, bufio.NewReaderSize(conn, maxLine)
	return nil
}

func (c *Client) drop() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// exchange writes one line and reads its answer. sent is false only when the
// kernel did not accept the line's last byte: the register acts on whole lines, so
// such a request can have no effect, now or later.
func (c *Client) exchange(id int64, line []byte) (a answer, sent bool, err error) {
	n, err := c.conn.Write(line)
	if n < len(line) {
		return a, false, err
	}
	reply, err := c.br.ReadSlice('\n')
	if err != nil {
		return a, true, fmt.Errorf("no reply: %w", err)
	}
	if err := json.Unmarshal(reply, &a); err != nil {
		return a, true, fmt.Errorf("not a register's reply: %w", err)
	}
	if a.ID != id {
		return a, true, fmt.Errorf("reply to request %d instead of %d", a.ID, id)
	}
	return a, true, nil
}
