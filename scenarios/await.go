package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// awaitWithin bounds every wait for an event that must come.
const awaitWithin = 30 * time.Second

// awaitFor waits for an event as long as its words say; outcome says that it goes on without it.
func (r *Runner) awaitFor(ctx context.Context, a *Await) (outcome string, err error) {
	limit, began := awaitWithin, r.stage.Now()
	open := a.Or.some() || a.Within.some()
	if open {
		limit = a.Or.Of(r.scenario.TTL) + a.Within.Of(r.scenario.TTL)
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	h, err := r.hear(ctx, a)
	if err != nil {
		return "", err
	}
	err = r.awaitEvent(bounded, a)
	if err == nil && a.What == quietEvent.what {
		err = r.still(bounded, a, h)
	}
	if bounded.Err() != nil && ctx.Err() == nil && err != nil && open {
		came, serr := r.settle(ctx, a, h)
		switch {
		case serr != nil:
			return "", serr
		case came:
			err = nil
		}
	}
	var never *neverError
	switch {
	case a.Or.some() && r.late(began+int64(limit)):
		return "", fmt.Errorf("%w: a wait of %v took %v", ErrBusy, a.Or, time.Duration(r.stage.Now()-began).Round(time.Millisecond))
	case err == nil:
		return "", r.passed(a)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, ErrBusy):
		return "", err
	case a.Within.some():
		return "", a.unfit()
	case a.Or.some() && errors.As(err, &never):
		return never.Error(), nil
	case bounded.Err() != nil && a.Or.some():
		return fmt.Sprintf("not within %v", a.Or), nil
	case bounded.Err() != nil:
		return "", fmt.Errorf("%s did not come within %v", a, limit)
	}
	return "", err
}

// neverError is why an event cannot come any more.
type neverError struct{ why string }

func (e *neverError) Error() string { return e.why }

// awaitEvent waits for an event from any source.
func (r *Runner) awaitEvent(ctx context.Context, a *Await) error {
	switch e := a.event(); {
	case e.wait != nil:
		return e.wait(ctx, r, a)
	case a.asksServers():
		return r.awaitServers(ctx, a)
	}
	return r.awaitState(ctx, a)
}

// ErrBusy is that this machine was too slow for what a move had to show: nothing is proved, and
// another run may well do.
var ErrBusy = errors.New("this machine is too busy")

// late says that a wait that was to end at a time has lasted so much longer that what
// follows shows something else: a lease ended meanwhile, or as much time went by as one has.
func (r *Runner) late(end int64) bool {
	now := r.stage.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaseEnded(end, now) != "" || time.Duration(now-end) > r.scenario.TTL
}

// leaseEnded is the first client whose lease ended after one instant, and by another, without having
// been released before; "" if there is none. r.mu is held.
func (r *Runner) leaseEnded(after, by int64) string {
	for _, name := range slices.Sorted(maps.Keys(r.clients)) {
		c := r.clients[name]
		if c.granted != 0 && c.until > after && c.until <= by && (c.released == 0 || c.released > after) {
			return name
		}
	}
	return ""
}

// passed is an ErrBusy if the lease is over before whose end a wait was to end.
func (r *Runner) passed(a *Await) error {
	if a.What != beforeLeaseEvent.what || a.For >= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[a.Client]; c.until != 0 && c.until <= r.stage.Now() {
		return fmt.Errorf("%w: %s's lease is over already", ErrBusy, a.Client)
	}
	return nil
}

// outlived is an ErrBusy if the lease of the client that waits ended in a wait that began at an instant, although all its
// waits and works since it asked for the lock were to be shorter than a lease, and no fault has touched the client. What
// follows happens after the lease and shows something else.
func (c *clientRunner) outlived(a *Await, began int64) error {
	if !a.Or.some() || c.planned >= c.scenario.TTL || a.ofLease() {
		return nil
	}
	now := c.stage.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.clients[c.client]
	if own.granted == 0 || own.released != 0 || own.watchdog || own.until <= began || own.until > now {
		return nil
	}
	if slices.ContainsFunc(c.track, func(st *faultState) bool { return st.begun && st.Fault.touches(c.client, c.scenario.Clients) }) {
		return nil
	}
	return fmt.Errorf("%w: %s's own lease ended while it waited", ErrBusy, c.client)
}

// ofLease says that a wait is for a time by some client's lease.
func (a *Await) ofLease() bool { return a.What == leaseEvent.what || a.Since == leaseOver }
