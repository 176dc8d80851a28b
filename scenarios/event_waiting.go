package scenarios

import (
	"context"
	"errors"
	"time"
)

// waitingEvent is that a client waits for the lock.
var waitingEvent = event{
	what: "waiting", text: clientText, ofActs: true, wait: awaitWaiting,
	at: client(func(c *clientState) bool { return c.waiting || c.granted != 0 }),
}

// awaitWaiting waits until the service has made a client wait, or has granted it the lock. Many locks tell nothing of a
// refusal: of them it is enough that what the client asked has been dealt with, and its acquire has not ended.
func awaitWaiting(ctx context.Context, r *Runner, a *Await) error {
	h, err := r.hear(ctx, a)
	if err != nil {
		return err
	}
	looks := 0
	for {
		r.mu.Lock()
		c, changed := r.clients[a.Client], r.changed
		there, asking := c.waiting || c.granted != 0, c.asking && !r.isDead(a.Client)
		r.mu.Unlock()
		if there {
			return nil
		}
		var again <-chan time.Time
		switch {
		case asking:
			again = time.After(restEvery)
			rest, err := r.dealtWith(ctx, h, a)
			if err != nil {
				return err
			}
			if looks++; !rest {
				looks = 0
			}
			if looks == restLooks {
				return nil
			}
		default:
			looks = 0
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dealtWith looks once whether what a client asked has been dealt with.
func (r *Runner) dealtWith(ctx context.Context, h *hearing, a *Await) (bool, error) {
	stage, ok := r.stage.(Rester)
	if !ok {
		return false, nil
	}
	if err := h.listen(ctx); err != nil || h.heard() {
		return err == nil, err
	}
	rest, err := stage.AtRest(ctx, []string{a.Client})
	if errors.Is(err, ErrUnseen) {
		return false, nil // answers have to be enough
	}
	return rest, err
}
