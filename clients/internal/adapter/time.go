package adapter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// InspectWithin bounds one look at a server.
const InspectWithin = 2 * time.Second

// Jitter is a random delay of 0.5 to 1.5 times d, with d kept within 2 and 25 ms
// so that polling neither floods a server nor dominates what is measured.
func Jitter(d time.Duration) time.Duration {
	d = min(max(d, 2*time.Millisecond), 25*time.Millisecond)
	return d/2 + rand.N(d)
}

// Pause waits for about d (see Jitter); false says that ctx has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(Jitter(d))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// WithGrace gives the last request of a wait, which may be on its way when ctx
// ends, a moment to be answered: otherwise the outcome of many a wait would be unknown.
func WithGrace(ctx context.Context, ttl time.Duration) (context.Context, context.CancelFunc) {
	grace := context.WithoutCancel(ctx)
	end, ok := ctx.Deadline()
	if !ok {
		return grace, func() {}
	}
	return context.WithDeadline(grace, end.Add(min(max(ttl/2, 250*time.Millisecond), time.Second)))
}

// Timeout is the error of an acquire that certainly got nothing before ctx
// ended; last is what prevented it, nil if only other holders did.
func Timeout(ctx context.Context, lock, key string, last error) error {
	if last != nil {
		return fmt.Errorf("%s: acquire %s: %w (last: %w)", lock, key, ctx.Err(), last)
	}
	return fmt.Errorf("%s: acquire %s: held by another: %w", lock, key, ctx.Err())
}
