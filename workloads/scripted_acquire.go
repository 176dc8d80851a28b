package workloads

import (
	"context"
	"fmt"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// doAcquire acquires the lock in a mode of history.Event, and gives up what was held before.
func (s *script) doAcquire(ctx context.Context, mode string) (Outcome, error) {
	s.drop()
	s.former = nil
	if mode == history.Shared && s.sharer == nil {
		return Cannot, fmt.Errorf("lock %s cannot be shared: it is not of the kind %s", s.info.Name, clients.ReadWrite)
	}
	h, err := s.acquireAs(ctx, s.key(), mode)
	return s.take(h, err)
}

// key is the one that the latest act is about.
func (s *script) key() string {
	if s.second {
		return SecondKey(s.cfg.KeyNames[0])
	}
	return s.cfg.KeyNames[0]
}

// take takes what an acquire has brought.
func (s *script) take(h *holding, err error) (Outcome, error) {
	if err != nil {
		return outcomeOf(err), err
	}
	s.held, s.read = h, ""
	return Granted, nil
}

// doAcquireCancelled asks for the lock, and cancels that after a time.
func (s *script) doAcquireCancelled(ctx context.Context, a Act) (Outcome, error) {
	s.drop()
	s.former = nil
	if s.canceler == nil {
		return Cannot, fmt.Errorf("an acquire of the lock %s cannot be cancelled: its program does not declare that", s.info.Name)
	}
	h, err := s.acquireWith(ctx, s.key(), a.Mode, func(ctx context.Context, key string) (clients.Grant, error) {
		return s.canceler.AcquireCancelled(ctx, key, a.Mode == history.Shared, a.Span)
	})
	return s.take(h, err)
}

// doEnter acquires a lock that the client holds already once more. What the client does to the register it goes on
// to do under its first grant: to the register that is one section.
func (s *script) doEnter(ctx context.Context) (Outcome, error) {
	switch {
	case s.held == nil:
		return Failed, errNoGrant
	case s.info.Kind != clients.Reentrant:
		return Cannot, fmt.Errorf("lock %s cannot be entered again by who holds it: it is not of the kind %s", s.info.Name, clients.Reentrant)
	}
	h, err := s.acquireAs(ctx, s.held.grant.Key, history.Nested)
	if err != nil {
		return outcomeOf(err), err
	}
	s.entries = append(s.entries, h)
	return Granted, nil
}
