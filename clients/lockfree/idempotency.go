package lockfree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func idempotencyInfo() clients.Info {
	return clients.WithoutLock(clients.Info{
		Name:     "idempotency-key",
		About:    "no lock: send the change and not its result, under a key of its own, until it is answered; the resource carries each key out once",
		Cluster:  "none",
		Unlocked: func(_ context.Context, o clients.Options) (clients.Unlocked, error) { return idempotent{o.TTL}, nil },
	})
}

// idempotent is what payment interfaces ask of their users (an Idempotency-Key header).
// The resource applies the change to whatever it holds, so that nothing a client has
// read can be out of date. It remembers the keys, so that sending again what was not
// answered has no effect.
type idempotent struct{ ttl time.Duration }

func (i idempotent) Update(ctx context.Context, s clients.Turn) error {
	if _, err := s.Read(ctx); err != nil {
		return err
	}
	if !s.Work(ctx) {
		return ctx.Err()
	}
	return s.Add(ctx, func(element string) error {
		once := rand.Text()
		var open error // an attempt whose outcome is unknown
		for {
			err := s.Send(ctx, clients.Change{Element: element, Merge: true, Once: once})
			if err == nil {
				return nil
			}
			if errors.Is(err, clients.ErrUnknown) {
				open = err
			}
			if !adapter.Pause(ctx, i.ttl/50) {
				if open != nil {
					err = fmt.Errorf("%w (last: %w)", open, err)
				}
				return err
			}
		}
	})
}

func (idempotent) Close() error { return nil }
