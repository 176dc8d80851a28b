package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Server writes the answers, whole lines in any order.
type Server struct {
	mu  sync.Mutex
	out io.Writer
}

// NewServer writes to out, which is nobody else's.
func NewServer(out io.Writer) *Server { return &Server{out: out} }

// Send writes one line.
func (s *Server) Send(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Write(s.out, v)
}

// Serve answers each request Q that in brings, all at the same time, until in or ctx
// ends, a request is none, or is longer than longest bytes. Then ctx ends for those that
// are being answered, and Serve returns when they have been. One goroutine of its own
// reads: where in goes on, it stays until in brings one more line, or ends.
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
				_ = answers.Send(answer(ctx, q)) // whoever asked is gone, which the end of in tells
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
