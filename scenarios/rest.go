package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Rester is a Stage that can tell whether what was asked has been dealt with.
type Rester interface {
	// AtRest says that some clients and all servers wait: nothing that was sent to one of them
	// is unread, and none computes or is about to. What was stopped counts as waiting. The error
	// is an ErrUnseen if all that can be seen waits, and some servers cannot be seen.
	AtRest(ctx context.Context, clients []string) (bool, error)
}

const (
	restEvery = 5 * time.Millisecond // nobody tells when processes come to rest
	restLooks = 2                    // in a row: an answer may be between two of them
)

// settle waits until what an event was to come of has been dealt with, and says whether the
// event came meanwhile. A time alone tells a slow machine from a lock that refuses by nothing.
func (r *Runner) settle(ctx context.Context, a *Await, h *hearing) (came bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	err = r.rest(ctx, h, r.waitedFor(a), func() (over, anew bool) {
		came = r.there(a)
		return came || r.refused(a.Client), !r.engaged(a)
	})
	return came, err
}

// still waits until it is as quiet as was asked for, and nobody is busy with what would break
// the quiet: a time alone tells a slow machine from clients that have nothing to say.
func (r *Runner) still(ctx context.Context, a *Await, h *hearing) error {
	return r.rest(ctx, h, r.scenario.Clients, func() (over, anew bool) { return false, !r.there(a) })
}

// rest waits until some clients and all servers are at rest. look is asked before each look at
// them: over ends the wait, and anew says that what was seen until then does not count.
func (r *Runner) rest(ctx context.Context, h *hearing, clients []string, look func() (over, anew bool)) error {
	stage, ok := r.stage.(Rester)
	if !ok {
		return nil
	}
	for looks := 0; ; {
		over, anew := look()
		if anew {
			looks = 0
		}
		if over || looks == restLooks {
			return nil
		}
		err := h.listen(ctx)
		if err == nil && h.heard() {
			return nil
		}
		rest := false
		if err == nil {
			rest, err = stage.AtRest(ctx, clients)
		}
		if errors.Is(err, ErrUnseen) {
			err = h.patience(err)
			rest = len(h.waiting()) == 0 // nobody has asked for anything
		}
		if err != nil {
			return fmt.Errorf("see whether %s has been dealt with: %w", h.await, err)
		}
		if looks++; !rest {
			looks = 0
		}
		t := time.NewTimer(restEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%w: %s had not been dealt with after %v", ErrBusy, h.await, awaitWithin)
		}
	}
}

// engaged says that a client with a program is doing what an event is to come of. One that still
// waits for its turn says nothing by being at rest.
func (r *Runner) engaged(a *Await) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[a.Client]
	return !a.event().ofActs || c == nil || c.busy != nil || r.over[a.Client] || r.isDead(a.Client)
}

// refused says that the service has refused a client since all others acted last: it asked
// after that, or asked anew.
func (r *Runner) refused(client string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.othersActed(client)
	c := r.clients[client]
	if c == nil || c.granted != 0 || len(c.refusals) == 0 {
		return false
	}
	// The first of two may have been on its way since before.
	return c.asked > since || len(c.refusals) == 2 && c.refusals[0] > since
}

// othersActed is when all but a client acted last, or a fault began or ended. r.mu is held.
func (r *Runner) othersActed(client string) int64 {
	since := int64(0)
	for name, at := range r.moved {
		if name != client {
			since = max(since, at)
		}
	}
	for name, c := range r.clients {
		if name != client {
			since = max(since, c.acted)
		}
	}
	return since
}

// there says whether an event that clients tell of has come.
func (r *Runner) there(a *Await) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := a.event()
	if e.at == nil || a.asksServers() {
		return false
	}
	at, err := e.at(r, a)
	return err == nil && at != 0 && at <= r.stage.Now()
}

// waitedFor are the clients of whose acts an event can come.
func (r *Runner) waitedFor(a *Await) []string {
	if a.Client != "" {
		return []string{a.Client}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, name := range r.scenario.Clients {
		if r.clients[name].busy != nil {
			out = append(out, name)
		}
	}
	return out
}
