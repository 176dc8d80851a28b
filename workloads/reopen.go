package workloads

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/clients"
)

// mostClosing is how many locks may be on their way to being closed at once.
const mostClosing = 2

// errClosing: what was open before does not come to an end.
var errClosing = errors.New("locks that were opened before are still being closed")

// reopen replaces the client's lock and its access to the register by new ones: their connections,
// sessions and timers are new, too. It takes much less than a new process. The old lock is closed
// meanwhile, and is not waited for: its connections may be those that a fault has harmed.
func (c *client) reopen(ctx context.Context) error {
	if c.closing.Load() >= mostClosing {
		return errClosing
	}
	next, err := c.open(ctx, c.lock)
	if err != nil {
		return fmt.Errorf("open the lock anew: %w", err)
	}
	if a, b := next.info, c.info; a.Fencing != b.Fencing || a.Confirms != b.Confirms || a.Kind != b.Kind || next.permits != c.permits {
		return errors.Join(errors.New("opened anew, the lock declares what it did not before"), next.close())
	}
	old := c.opened
	c.opened = next.opened
	old.over.Store(true)
	c.closing.Add(1)
	c.ending.Go(func() {
		defer c.closing.Add(-1)
		_ = old.close() // nobody uses it any more
	})
	return nil
}

// ready prepares the lock for a run: a program that has ended is started again, and connects, before the run begins.
func (s *script) ready(ctx context.Context, warmKey string) error {
	if p, ok := s.lock.(clients.Starter); ok {
		anew, err := p.Start(ctx)
		if err != nil {
			return err
		}
		s.warmed = s.warmed && !anew
	}
	s.warm(ctx, warmKey)
	return nil
}

// warm acquires and releases a key that nobody else asks for. What comes of it shows in the run itself.
func (s *script) warm(ctx context.Context, key string) {
	if key == "" || s.warmed || s.lock == nil {
		return
	}
	s.warmed = true
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	if g, err := s.lock.Acquire(ctx, key); err == nil {
		_ = s.lock.Release(ctx, g)
	}
}

// endWithProgram gives up what a program holds that has ended: its client has ended with it.
func (s *script) endWithProgram() {
	for _, h := range []*holding{s.held, s.other} {
		if h == nil {
			continue
		}
		select {
		case <-h.grant.Ended:
			s.end()
			return
		default:
		}
	}
}
