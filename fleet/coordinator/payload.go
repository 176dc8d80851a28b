package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/hunt"
)

// payload reads the payload of an item's result; nil if it has none. One that cannot be read, or that
// does not fit its item, is an error of that item alone: the item then counts as dead-lettered.
func (k *coordinator) payload(ctx context.Context, s *state, id string, fits func(*fleet.Payload) bool) (*fleet.Payload, error) {
	r := s.done[id]
	if r.Object == "" {
		return nil, nil
	}
	p, err := k.c.Payload(ctx, r.Object)
	if err == nil && !fits(p) {
		err = fmt.Errorf("%s does not fit its item: %w", r.Object, stream.ErrUnreadable)
	}
	if errors.Is(err, stream.ErrUnreadable) || errors.Is(err, jetstream.ErrObjectNotFound) {
		r.Object, r.DeadLetter = "", fmt.Sprintf("its result cannot be read: %v", err)
		s.done[id] = r
		return nil, nil
	}
	return p, err
}

func isPortion(p *fleet.Payload) bool { return p.Portion != nil }

func isHunt(p *fleet.Payload) bool {
	return p.Hunt != nil && !slices.ContainsFunc(p.Finds, func(f hunt.Find) bool { return f.Counterexample == nil })
}
