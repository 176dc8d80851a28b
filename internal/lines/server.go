package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Server writes answers as whole lines. Any goroutine may send, in any order.
type Server struct {
	mu  sync.Mutex
	out io.Writer
}

// NewServer writes to out. Nobody else may write to it.
func NewServer(out io.Writer) *Server { return &Server{out: out} }

// Send writes one line.
func (s *Server) Send(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Write(s.out, v)
}

// Serve answers each request Q that it reads from in, all at the same time. It stops if in or
// ctx ends, or if a line is no request or longer than longest bytes. Then it ends the context
// of the open answers, and returns after them. One goroutine reads: if in does not end, the
// goroutine lives until it has read one more line.
func Serve[Q any](ctx context.Context, in io.Reader, longest int, answers *Server, answer func(context.Context, Q) any) error {
	ctx, cancel := context.WithCancel(ctx)
	var answering sync.WaitGroup
	defer answering.Wait()
	defer cancel()
	requests, ended := make(chan Q), make(chan error, 1)
	go func() {
		for lines := NewReader(in, longest); ; {
			q, err := next[Q](lines)
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- q:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case q := <-requests:
			answering.Go(func() {
				_ = answers.Send(answer(ctx, q)) // the one that asked is gone, which the end of in tells
			})
		case err := <-ended:
			if errors.Is(err, io.EOF) { // in the middle of a line, too: who asks has died
				return nil
			}
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func next[Q any](lines *Reader) (q Q, err error) {
	line, err := lines.Next()
	if errors.Is(err, ErrTooLong) {
		return q, fmt.Errorf("read request %.200q...: %w", line, err)
	}
	if err != nil {
		return q, fmt.Errorf("read requests: %w", err)
	}
	if err := json.Unmarshal(line, &q); err != nil {
		return q, fmt.Errorf("read request %q: %w", line, err)
	}
	return q, nil
}
