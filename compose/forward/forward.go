// Package forward lets the clients of a run reach a service that runs outside of it: a
// forwarder is a node of the cluster that listens where clients think the service is, and
// forwards every connection to the service itself. Clients stay in networks of their own,
// so that their links can be cut, held and slowed; the process that started the run dials for
// the forwarder, which has no route to the outside. The package does not depend on locks,
// faults, or what the bytes mean.
package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Limits bound what a forwarder lets through to its service, whatever its clients do:
// what is too much waits.
type Limits struct {
	Connections int // new ones a second
	Open        int // at a time
	Messages    int // a second, all clients' together; one is what is read from a client at once
}

// Usual is what a service that others use, too, bears without notice.
var Usual = Limits{Connections: 100, Open: 500, Messages: 1000}

// messageBytes bounds one message.
const messageBytes = 16 << 10

// dialWithin is how long the service may take to take a connection.
const dialWithin = 5 * time.Second

// Dialer makes a connection to an address outside.
type Dialer func(ctx context.Context, addr string) (*net.TCPConn, error)

// Direct dials from the network that this process is in.
func Direct(ctx context.Context, addr string) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// forwarder is what one Serve works with.
type forwarder struct {
	to       string
	dial     Dialer
	log      *slog.Logger
	conns    *pace
	messages *pace
	open     chan struct{}
}

// Serve forwards what connects to ln, which it closes, until ctx ends.
func Serve(ctx context.Context, ln *net.TCPListener, to string, dial Dialer, most Limits, log *slog.Logger) error {
	f := &forwarder{to: to, dial: dial, log: log, conns: newPace(most.Connections), messages: newPace(most.Messages), open: make(chan struct{}, most.Open)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { ln.Close() })
	var all sync.WaitGroup
	defer all.Wait()
	for {
		if !f.conns.wait(ctx) {
			return nil
		}
		select {
		case f.open <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		in, err := ln.AcceptTCP()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			cancel()
			return fmt.Errorf("take a connection for %s: %w", to, err)
		}
		all.Go(func() {
			defer func() { <-f.open }()
			f.forward(ctx, in)
		})
	}
}

// forward forwards one connection until both sides have ended it.
func (f *forwarder) forward(ctx context.Context, in *net.TCPConn) {
	defer in.Close()
	out, err := f.dial(ctx, f.to)
	if err != nil {
		f.log.Warn("the service takes no connection", "service", f.to, "client", in.RemoteAddr(), "error", err)
		reset(in)
		return
	}
	defer out.Close()
	stop := context.AfterFunc(ctx, func() {
		in.Close()
		out.Close()
	})
	defer stop()
	var back sync.WaitGroup
	back.Go(func() { pass(in, out, nil) })
	pass(out, in, func() bool { return f.messages.wait(ctx) })
	back.Wait()
}

// pass copies from one end to the other, and passes on how that ended: a half that was
// closed is closed, a connection that was reset is reset. before, where not nil, is asked
// before each message.
func pass(to, from *net.TCPConn, before func() bool) {
	buf := make([]byte, messageBytes)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if before != nil && !before() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				reset(from) // the other side is gone: a sender has to learn of it
				return
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.CloseWrite() // it may be gone already
			return
		}
		if err != nil {
			reset(to)
			return
		}
	}
}

// reset ends a connection as a service does that has died.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // it fails for one that is closed
	c.Close()
}

// Run is the forwarder's process: it listens and serves until ctx ends. via is the file
// over which it has the outside dialled for it, nil where it can dial for itself.
func Run(ctx context.Context, listen, to string, via *os.File, log *slog.Logger) error {
	dial := Dialer(Direct)
	if via != nil {
		conn, err := packets(via)
		if err != nil {
			return fmt.Errorf("find the process that dials the outside: %w", err)
		}
		defer conn.Close()
		dial = func(ctx context.Context, addr string) (*net.TCPConn, error) { return ask(ctx, conn, addr) }
	}
	addr, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	// Before the port is open: a client that can connect to it takes it for the service.
	if err := reachable(ctx, dial, to); err != nil {
		return err
	}
	ln, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	return Serve(ctx, ln, to, dial, Usual, log)
}

// reachable returns nil if the service takes a connection.
func reachable(ctx context.Context, dial Dialer, to string) error {
	conn, err := dial(ctx, to)
	if err != nil {
		return fmt.Errorf("the service at %s cannot be reached: %w", to, err)
	}
	return conn.Close()
}
