package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrUnseen is that picklock cannot see what a server does: it runs somewhere else.
var ErrUnseen = errors.New("picklock cannot look into a service that it has not started")

// Hearer is a Stage that sees what servers answer to a client.
type Hearer interface {
	// Carried is what each connection of a client to servers has carried so far, by a name
	// of the connection.
	Carried(ctx context.Context, client string) (map[string]Carried, error)
}

// Carried is what a connection has carried, in bytes, from the client's end: those of Sent have
// arrived.
type Carried struct{ Sent, Received uint64 }

// hearing is evidence that servers have dealt with what clients ask: since all others acted last, each
// has been answered so often that what it waits for would have been among the answers. It is all there
// is where servers cannot be seen. Elsewhere it is that of a client which asks again and again, and so is
// hardly ever seen at rest.
type hearing struct {
	runner *Runner
	await  *Await
	until  int64 // when nothing more is waited for; 0: not known yet
	ways   map[string]*exchange
	since  map[string]int64 // by client, when all others had acted as its ways began
}

// often is how many answers it takes on one connection: to get a lock can take several requests.
const often = 5

// exchange is what a connection has carried, from when it was seen first.
type exchange struct {
	seen     Carried
	asked    bool // the client had sent something by then that may not have been answered
	answered int  // how often it was, after it was seen to ask
}

// look takes a connection's next state. What has come since it was seen to ask is an answer; what
// has come when it was first seen to ask may be the answer to something else.
func (e *exchange) look(now Carried) {
	if e.asked && now.Received > e.seen.Received {
		e.answered++
		e.asked = false
	}
	e.asked = e.asked || now.Sent > e.seen.Sent
	e.seen = now
}

// hear begins to listen for what answers the wait for an event.
func (r *Runner) hear(ctx context.Context, a *Await) (*hearing, error) {
	h := &hearing{runner: r, await: a, ways: map[string]*exchange{}, since: map[string]int64{}}
	return h, h.listen(ctx)
}

// listen looks at what the connections of the clients have carried of whose acts the event can
// come.
func (h *hearing) listen(ctx context.Context) error {
	r := h.runner
	stage, ok := r.stage.(Hearer)
	if !ok {
		return nil
	}
	for _, client := range r.waitedFor(h.await) {
		now, err := stage.Carried(ctx, client)
		if err != nil {
			return err
		}
		r.mu.Lock()
		since := r.othersActed(client)
		r.mu.Unlock()
		if h.since[client] != since {
			h.since[client] = since
			maps.DeleteFunc(h.ways, func(way string, _ *exchange) bool { return strings.HasPrefix(way, client+" ") })
		}
		for name, c := range now {
			way := client + " " + name
			if h.ways[way] == nil {
				h.ways[way] = &exchange{seen: c}
			}
			h.ways[way].look(c)
		}
	}
	return nil
}

// heard says that all clients have been answered of whose acts the event can come.
func (h *hearing) heard() bool {
	return len(h.ways) > 0 && len(h.waiting()) == 0
}

// waiting are the clients that have not been answered.
func (h *hearing) waiting() []string {
	return slices.DeleteFunc(h.runner.waitedFor(h.await), h.one)
}

// patience is that servers cannot be seen, once a client has not been answered for a whole lease.
func (h *hearing) patience(unseen error) error {
	now := h.runner.stage.Now()
	if h.until == 0 {
		h.until = now + int64(h.runner.scenario.TTL)
	}
	if now <= h.until {
		return nil
	}
	return fmt.Errorf("%w, which has not answered %s since", unseen, strings.Join(h.waiting(), ", "))
}

// one says whether a client has been answered. A program that tells of refusals tells of all
// of them: what its connections carry besides are other things.
func (h *hearing) one(client string) bool {
	r := h.runner
	if r.refused(client) {
		return true
	}
	r.mu.Lock()
	tells := r.clients[client].waiting
	r.mu.Unlock()
	enough, open := false, false
	for way, e := range h.ways {
		if strings.HasPrefix(way, client+" ") {
			enough = enough || e.answered >= often
			open = open || e.asked && e.answered == 0
		}
	}
	return enough && !open && !tells
}
