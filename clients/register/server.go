package register

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// maxLine bounds one request or reply on the wire.
const maxLine = 64 << 10

// writeTimeout bounds how long one reply may wait for a client that does not
// read, so that it costs a goroutine for that long at most.
const writeTimeout = 30 * time.Second

// answer is a reply's line on the wire.
type answer struct {
	ID int64 `json:"id"`
	OK bool  `json:"ok"`
	Reply
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"` // Error is a refusal by the fencing mode
}

// Serve answers requests on ln until ctx ends, then closes ln and every
// connection and returns nil. Each operation is in log, one history.Effect a
// line, in the order of its sequence number, before it is answered. If the log
// cannot be written, nothing more is answered and Serve returns the error.
func Serve(ctx context.Context, ln net.Listener, store *Store, log io.Writer) error {
	return ServeAsking(ctx, ln, store, log, nil)
}

// ServeAsking is Serve for a fencing mode that asks the lock service; open makes its
// connection.
func ServeAsking(ctx context.Context, ln net.Listener, store *Store, log io.Writer, open func(context.Context) (Sequencer, error)) error {
	s := &server{store: store, log: log, conns: map[net.Conn]struct{}{}, open: open}
	outer := ctx
	ctx, s.fail = context.WithCancelCause(outer)
	defer s.fail(nil)
	var closer sync.WaitGroup
	closer.Go(func() {
		<-ctx.Done()
		ln.Close()
		s.closeAll()
	})
	defer closer.Wait()
	for {
		conn, err := ln.Accept()
		if err != nil {
			// An accept that failed for a transient reason (too many open files, an
			// aborted handshake) is Temporary; there is no other test for it.
			var ne net.Error
			if ctx.Err() == nil && errors.As(err, &ne) && ne.Temporary() { //nolint:staticcheck
				time.Sleep(10 * time.Millisecond)
				continue
			}
			s.fail(fmt.Errorf("register: accept: %w", err))
			break
		}
		if !s.add(conn) {
			conn.Close()
			continue
		}
		s.group.Go(func() {
			defer s.remove(conn)
			s.serve(ctx, conn)
		})
	}
	s.group.Wait()
	switch {
	case s.failed != nil:
		return s.failed
	case outer.Err() != nil:
		return nil
	}
	return context.Cause(ctx)
}

type server struct {
	fail  context.CancelCauseFunc
	group sync.WaitGroup
	open  func(context.Context) (Sequencer, error)
	turns turns

	mu     sync.Mutex // orders the requests, and with them the log
	store  *Store
	log    io.Writer
	failed error

	connsMu sync.Mutex
	closed  bool
	conns   map[net.Conn]struct{}
}

func (s *server) add(c net.Conn) bool {
	s.connsMu.Lock()
	defer s.connsMu.Unlock()
	if !s.closed {
		s.conns[c] = struct{}{}
	}
	return !s.closed
}

func (s *server) remove(c net.Conn) {
	c.Close()
	s.connsMu.Lock()
	defer s.connsMu.Unlock()
	delete(s.conns, c)
}

func (s *server) closeAll() {
	s.connsMu.Lock()
	defer s.connsMu.Unlock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
}

// serve answers one connection's requests in turn. Only a line with its newline
// is a request: the client counts on a torn line having no effect.
func (s *server) serve(ctx context.Context, conn net.Conn) {
	ctx, hungUp := context.WithCancel(ctx)
	defer hungUp()
	ask := questions{open: s.open}
	defer ask.close()
	for line := range s.lines(ctx, conn, hungUp) {
		var (
			r Request
			a answer
		)
		if err := json.Unmarshal(line, &r); err != nil {
			a = answer{Error: fmt.Sprintf("%v: not a JSON object of the expected form: %v", errBadRequest, err)}
		} else if a, err = s.handle(ctx, r, &ask); err != nil {
			s.fail(err)
			return
		}
		out, err := json.Marshal(a)
		if err != nil {
			return
		}
		conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := conn.Write(append(out, '\n')); err != nil {
			return
		}
	}
}

// lines reads a connection's requests, and calls hungUp when there will be no more: a question
// to the lock service must not outlast the client that waits for its answer.
func (s *server) lines(ctx context.Context, conn net.Conn, hungUp func()) <-chan []byte {
	lines := make(chan []byte)
	s.group.Go(func() {
		defer close(lines)
		defer hungUp()
		br := bufio.NewReaderSize(conn, maxLine)
		for {
			line, err := br.ReadSlice('\n')
			if err != nil {
				return
			}
			select {
			case lines <- bytes.Clone(line):
			case <-ctx.Done():
				return
			}
		}
	})
	return lines
}

// handle carries a request out, after asking the lock service if the mode needs that. If it cannot
// be asked, the request has no effect.
func (s *server) handle(ctx context.Context, r Request, ask *questions) (answer, error) {
	if m := s.store.mode; m.asks && r.Token > 0 {
		if !m.apart {
			done, err := s.turns.take(ctx, r.Key)
			if err != nil {
				return answer{ID: r.ID, Error: err.Error()}, nil
			}
			defer done()
		}
		var err error
		if r.over, err = ask.over(ctx, r); err != nil {
			return answer{ID: r.ID, Error: fmt.Sprintf("not carried out: cannot ask the lock service: %v", err)}, nil
		}
	}
	return s.apply(r)
}

func (s *server) apply(r Request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return answer{}, s.failed
	}
	e, err := s.store.Apply(r, history.Now()-s.store.Start)
	if err != nil {
		return answer{ID: r.ID, Error: err.Error()}, nil
	}
	if e.Seq == 0 { // carried out before
		return answer{ID: r.ID, OK: true, Reply: Reply{Value: e.Value, Version: e.Version}}, nil
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.log.Write(append(line, '\n'))
	}
	if err != nil {
		s.failed = fmt.Errorf("register: write the log of effects: %w", err)
		return answer{}, s.failed
	}
	if e.Error != "" {
		return answer{ID: r.ID, Error: e.Error, Refused: true}, nil
	}
	return answer{ID: r.ID, OK: true, Reply: Reply{Value: e.Value, Version: e.Version}}, nil
}
