package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrUnseen is that picklock cannot see what a server does: it runs somewhere else.
var ErrUnseen = errors.New("picklock cannot see what this service does")

// Hearer is a Stage that sees what the servers of an ErrUnseen answer to a client.
type Hearer interface {
	// Carried is what each connection of a client to such servers has carried so far, by a name
	// of the connection.
	Carried(ctx context.Context, client string) (map[string]Carried, error)
}

// Carried is what a connection has carried, in bytes, from the client's end: those of Sent have
// arrived.
type Carried struct{ Sent, Received uint64 }

// hearing is evidence that servers which cannot be seen have dealt with what clients ask: each
// has asked since the hearing began, and was answered after that.
type hearing struct {
	runner *Runner
	await  *Await
	began  int64 // 0: not yet
	ways   map[string]*exchange
}

// exchange is what a connection has carried: when it was seen first, and, once the client has
// sent something since, when that was seen first.
type exchange struct {
	first, asked Carried
	answered     bool
}

// look takes a connection's next state.
func (e *exchange) look(now Carried) {
	switch {
	case e.asked == Carried{} && now.Sent > e.first.Sent:
		e.asked = now // what it has received by now may be the answer to something else
	case e.asked != Carried{} && now.Received > e.asked.Received:
		e.answered = true
	}
}

// all says whether all clients have been answered whose acts the awaited can come of. The error is
// the ErrUnseen, if one has not been for a whole lease.
func (h *hearing) all(ctx context.Context, unseen error) (bool, error) {
	r := h.runner
	if h.began == 0 {
		h.began = r.stage.Now()
	}
	var waits []string
	for _, client := range r.waitedFor(h.await) {
		yes, err := h.one(ctx, client)
		if err != nil {
			return false, err
		}
		if !yes {
			waits = append(waits, client)
		}
	}
	if len(waits) > 0 && r.stage.Now()-h.began > int64(r.scenario.TTL) {
		return false, fmt.Errorf("%w, and it has not answered %s since: nothing shows whether that was still to come", unseen, strings.Join(waits, ", "))
	}
	return len(waits) == 0, nil
}

// one says whether a client has been answered. A program that tells of refusals tells of all
// of them: what its connections carry besides are other things.
func (h *hearing) one(ctx context.Context, client string) (bool, error) {
	r := h.runner
	if r.refused(client) {
		return true, nil
	}
	stage, ok := r.stage.(Hearer)
	r.mu.Lock()
	tells := r.clients[client].waiting
	r.mu.Unlock()
	if !ok || tells {
		return false, nil
	}
	now, err := stage.Carried(ctx, client)
	if err != nil {
		return false, err
	}
	answered, open := false, false
	for name, c := range now {
		way := client + " " + name
		e := h.ways[way]
		if e == nil {
			e = &exchange{first: c}
			h.ways[way] = e
		}
		e.look(c)
		answered = answered || e.answered
		open = open || e.asked != Carried{} && !e.answered
	}
	return answered && !open, nil
}
