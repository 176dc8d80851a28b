package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/history"
)

// awaitWord waits for an event: "await: A granted", "await: B done or 2s".
var awaitWord = stepWord{name: "await", read: (*parser).await, after: (*order).await, take: (*Runner).await}

func (p *parser) await(n *yaml.Node, st *Step, rest string) (err error) {
	st.Await, err = p.event(n, rest)
	return err
}

func (o *order) await(n *yaml.Node, st *Step) error {
	a := st.Await
	if len(a.From) > 0 {
		return o.held(n, "await", a.From, a.Servers)
	}
	if a.Client == "" {
		return nil
	}
	c := o.clients[a.Client]
	says := a.event().ends
	ends := says != nil && says(c.last)
	switch {
	case c.dead:
		return o.p.errorf(n, "await: %s was killed: nothing comes of it before start: %s", a.Client, a.Client)
	case c.asked == 0:
		return o.p.errorf(n, "await: %s has not asked for the lock yet: acquire first", a.Client)
	case ends && o.broken["pause "+a.Client] != 0 && c.busy != 0 && a.Or == 0:
		return o.p.errorf(n, "await: %s is paused since line %d and would never answer: resume it first", a.Client, o.broken["pause "+a.Client])
	}
	if ends && a.Or == 0 {
		c.busy = 0
	}
	if a.Act != "" {
		return o.gates(n, a)
	}
	return nil
}

// awaitWithin bounds every wait for an event that must come.
const awaitWithin = 30 * time.Second

// await waits for an event.
func (r *Runner) await(ctx context.Context, st Step) (string, error) {
	a := st.Await
	limit, began := awaitWithin, r.stage.Now()
	switch {
	case a.Or > 0:
		limit = a.Or
	case a.Within > 0:
		limit = a.Within
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
	if bounded.Err() != nil && ctx.Err() == nil && err != nil && (a.Or > 0 || a.Within > 0) {
		came, serr := r.settle(ctx, a, h)
		switch {
		case serr != nil:
			return "", serr
		case came:
			err = nil
		}
	}
	switch {
	case a.Or > 0 && r.late(began+int64(a.Or)):
		return "", fmt.Errorf("%w: a wait of %v took %v", ErrBusy, a.Or, time.Duration(r.stage.Now()-began).Round(time.Millisecond))
	case err == nil:
		return "", r.passed(a)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, ErrBusy):
		return "", err
	case a.Within > 0:
		return "", a.unfit()
	case bounded.Err() != nil && a.Or > 0:
		return fmt.Sprintf("not within %v", a.Or), nil
	case bounded.Err() != nil:
		return "", fmt.Errorf("%s did not come within %v", a, limit)
	}
	return "", err
}

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

// ErrBusy is that this machine was too slow for what a step had to show: nothing is proved, and
// another run may well do.
var ErrBusy = errors.New("this machine is too busy")

// late says that a wait that was to end at a time has lasted so much longer that the steps
// after it show something else: a lease ended meanwhile, or as much time went by as one has.
func (r *Runner) late(end int64) bool {
	now := r.stage.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaseEnded(end, now) || time.Duration(now-end) > r.scenario.TTL
}

// leaseEnded says that somebody's lease ended after one instant, and by another. r.mu is held.
func (r *Runner) leaseEnded(after, by int64) bool {
	for _, c := range r.clients {
		if c.granted != 0 && c.until > after && c.until <= by {
			return true
		}
	}
	return false
}

// brief says of a step that nothing but this machine makes it last: a client's acts without a
// fault, and none of them waits for the lock.
func (r *Runner) brief(st Step) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return st.Client != "" && !st.Background && len(r.order) == 0 &&
		!slices.ContainsFunc(st.Acts, func(a string) bool { return verb(a) == history.Acquire })
}

// outlasted is an ErrBusy if somebody's lease ended while a brief step was taken: what follows
// was meant to come within it.
func (r *Runner) outlasted(began int64) error {
	now := r.stage.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.scenario.Clients {
		if c := r.clients[name]; c.granted != 0 && c.until > began && c.until <= now {
			return fmt.Errorf("%w: %s's lease ended in the %v that this took", ErrBusy, name, time.Duration(now-began).Round(time.Millisecond))
		}
	}
	return nil
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
