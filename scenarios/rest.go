package scenarios

import (
	"context"
	"fmt"
	"time"
)

// Rester is a Stage that can tell whether what was asked has been dealt with.
type Rester interface {
	// AtRest says that some clients and all servers wait: nothing that was sent to one of them
	// is unread, and none computes or is about to. What was stopped counts as waiting.
	AtRest(ctx context.Context, clients []string) (bool, error)
}

const (
	restEvery = 5 * time.Millisecond // nobody tells when processes come to rest
	restLooks = 2                    // in a row: an answer may be between two of them
)

// settle waits until what an event was to come of has been dealt with, and says whether the
// event came meanwhile. A time alone tells a slow machine from a lock that refuses by nothing.
func (r *Runner) settle(ctx context.Context, a *Await) (came bool, err error) {
	stage, ok := r.stage.(Rester)
	if !ok {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	clients := r.waitedFor(a)
	for looks := 0; ; {
		if r.there(a) {
			return true, nil
		}
		if r.refused(a) || looks == restLooks {
			return false, nil
		}
		rest, err := stage.AtRest(ctx, clients)
		if err != nil {
			return false, fmt.Errorf("see whether %s has been dealt with: %w", a, err)
		}
		if looks++; !rest {
			looks = 0
		}
		t := time.NewTimer(restEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false, fmt.Errorf("%w: %s had not been dealt with after %v", ErrBusy, a, awaitWithin)
		}
	}
}

// still waits until it is as quiet as was asked for, and nobody is busy with what would break
// the quiet: a time alone tells a slow machine from clients that have nothing to say.
func (r *Runner) still(ctx context.Context, a *Await) error {
	stage, ok := r.stage.(Rester)
	if !ok {
		return nil
	}
	for looks := 0; looks < restLooks; {
		rest, err := stage.AtRest(ctx, r.scenario.Clients)
		if err != nil {
			return fmt.Errorf("see whether it is quiet: %w", err)
		}
		if looks++; !rest || !r.there(a) {
			looks = 0
		}
		t := time.NewTimer(restEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%w: it did not come to rest within %v", ErrBusy, awaitWithin)
		}
	}
	return nil
}

// refused says that the service has refused a client since all others acted last: it asked
// after that, or asked anew.
func (r *Runner) refused(a *Await) bool {
	since := int64(0)
	for client, at := range r.moved {
		if client != a.Client {
			since = max(since, at)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[a.Client]
	if c == nil || c.granted != 0 || len(c.refusals) == 0 {
		return false
	}
	// The first of two may have been on its way since before.
	return c.asked > since || len(c.refusals) == 2 && c.refusals[0] > since
}

// there says whether an event that clients tell of has come.
func (r *Runner) there(a *Await) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := a.event()
	if e.at == nil || e.wait != nil || a.asksServers() {
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
