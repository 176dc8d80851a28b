package workloads

import (
	"context"
	"errors"
	"fmt"
)

// doAcquireOther acquires the other key, and goes on to hold what the client holds.
func (s *script) doAcquireOther(ctx context.Context) (Outcome, error) {
	switch {
	case s.held == nil:
		return Failed, errNoGrant
	case !s.info.Several:
		return Cannot, fmt.Errorf("lock %s cannot hold several keys at once: its program does not declare that", s.info.Name)
	case s.other != nil:
		return Failed, errors.New("the other key is held already")
	}
	key := s.cfg.KeyNames[0]
	if s.held.grant.Key == key {
		key = SecondKey(key)
	}
	h, err := s.acquireAs(ctx, key, "")
	if err != nil {
		return outcomeOf(err), err
	}
	s.other = h
	return Granted, nil
}

// doReleaseOther gives the other key back.
func (s *script) doReleaseOther(ctx context.Context) (Outcome, error) {
	if s.other == nil {
		return Failed, errNoGrant
	}
	h := s.other
	s.other = nil
	err := h.release(ctx)
	return outcomeOf(err), err
}
