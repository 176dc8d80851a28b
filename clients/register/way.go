package register

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Way is what the ways to resources of others have in common: one connection, made when it
// is needed and given up when something went wrong with it, and one request at a time.
type Way[C any] struct {
	Addr       string
	Discipline Discipline
	Dial       func(ctx context.Context, addr string) (C, error)
	Hang       func(C) error // up

	mu   sync.Mutex
	conn *C
}

// Do has send carry out one request over the connection, which is given up at any error
// but a refusal.
func (w *Way[C]) Do(ctx context.Context, r Request, send func(C) (Reply, error)) (Reply, error) {
	if err := w.Discipline.Ready(r); err != nil {
		return Reply{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Reply{}, w.NotSent(err)
	}
	if w.conn == nil {
		c, err := w.Dial(ctx, w.Addr)
		if err != nil {
			return Reply{}, w.NotSent(err)
		}
		w.conn = &c
	}
	reply, err := send(*w.conn)
	if err != nil && !errors.Is(err, ErrRefused) {
		_ = w.hangUp() // what the kernel has taken, it goes on sending
	}
	return reply, err
}

// NotSent is the error of a request that certainly had no effect.
func (w *Way[C]) NotSent(err error) error {
	return fmt.Errorf("register %s: not sent: %w", w.Addr, err)
}

// InDoubt is the error of a request that may have been carried out, or may yet be.
func (w *Way[C]) InDoubt(r Request, err error) error {
	return fmt.Errorf("register %s: %s: %w: %w", w.Addr, r.F, ErrUnknown, err)
}

func (w *Way[C]) hangUp() error {
	if w.conn == nil {
		return nil
	}
	c := *w.conn
	w.conn = nil
	return w.Hang(c)
}

// Close implements Resource.
func (w *Way[C]) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hangUp()
}
