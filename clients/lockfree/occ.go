package lockfree

import (
	"context"
	"errors"

	"github.com/picklock/picklock/clients"
)

func occInfo() clients.Info {
	return clients.WithoutLock(clients.Info{
		Name:     "occ",
		About:    "no lock: read a version, and write only if the resource still has it; else begin anew (optimistic concurrency control)",
		Cluster:  "none",
		Unlocked: func(context.Context, clients.Options) (clients.Unlocked, error) { return occ{}, nil },
	})
}

// occ is Kung and Robinson's validation at the write ("On Optimistic Methods for
// Concurrency Control", 1981), as an ETag, a version column or a conditional put gives
// it. The resource compares at the moment of the write, so that a client may be
// stopped for any time. The price is work done in vain.
type occ struct{}

func (occ) Update(ctx context.Context, s clients.Turn) error {
	for {
		seen, err := s.Read(ctx)
		if err != nil {
			return err
		}
		if !s.Work(ctx) {
			return ctx.Err()
		}
		err = s.Add(ctx, func(element string) error {
			return s.Send(ctx, clients.Change{Element: element, Parent: seen.Value, Version: &seen.Version})
		})
		if !errors.Is(err, clients.ErrOutdated) {
			return err
		}
	}
}

func (occ) Close() error { return nil }
