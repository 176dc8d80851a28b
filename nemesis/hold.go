package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picklock/picklock/nemesis/packetfault"
)

var holdKind = Kind{
	Name:     "hold",
	About:    "keep messages at their sender, in order, and deliver them later: nothing is lost or sent again",
	Usage:    "[:server|one|leader|halves|minority|majority|holder|waiter|client|NODE][:servers|clients|register][:in|out]",
	Plain:    []string{"one", "client"},
	All:      []string{"holder:register:out", "holder:register:out", "holder:register:out", "holder:servers", "waiter:servers:in", "client:out", "leader:clients:out", "one:servers"},
	Share:    4,
	Parse:    parseLinks,
	Make:     makeHold,
	Lasts:    linksLast,
	Possible: wireable,
	Overlaps: true, // holds are counted
}

func makeHold(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	s, err := p.sides(ctx, e, c)
	if err != nil || !p.named() && !allUp(s.inside) {
		return nil, err
	}
	f := &hold{env: e, links: s.links, both: s.dir == ""}
	for _, x := range s.links {
		if f.both && contains(s.inside, x.to) {
			continue // the other direction of a link that is named already
		}
		f.from, f.to = both(f.from, []string{x.from}), both(f.to, []string{x.to})
	}
	if p.target == holder {
		// A late message matters most in the middle of another's critical section.
		f.harm = e.watch.harm(s.inside[0].Name, true)
	}
	return f, nil
}

type hold struct {
	env      *Env
	from, to []string
	both     bool
	links    []directedLink
	harm     <-chan struct{} // closed when it has been held for long enough; nil if nothing shows that

	begun time.Time
	ended bool
	done  packetfault.Report // of the delivery
}

func (h *hold) Nodes() []string { return both(h.from, h.to) }

// Await implements Awaiter, as for a paused holder.
func (h *hold) Await() <-chan struct{} { return h.harm }

func (h *hold) Detail() string {
	what := "messages from " + strings.Join(h.from, ", ") + " to " + strings.Join(h.to, ", ")
	if h.both {
		what = "messages between " + strings.Join(h.from, ", ") + " and " + strings.Join(h.to, ", ")
	}
	if !h.ended {
		return what + " held"
	}
	text := fmt.Sprintf("%d %s delivered after %s", h.done.Messages, what, time.Since(h.begun).Round(time.Millisecond))
	if h.done.GivenUp > 0 {
		text += fmt.Sprintf("; their sender had given up %d connections by then", h.done.GivenUp)
	}
	return text
}

func (h *hold) Steps() []string { return linkSteps("hold", h.links, "") }

func (h *hold) Inject(ctx context.Context) error {
	h.begun = time.Now()
	return h.env.net.hold(ctx, h, h.links)
}

// Verify probes each link with a packet and checks that it is held.
func (h *hold) Verify(ctx context.Context) error {
	return h.env.net.seen(ctx, h.links, func(f packetfault.Fate) error {
		if !f.Held {
			return errors.New("a packet was not held")
		}
		return nil
	})
}

func (h *hold) Heal(ctx context.Context) error {
	r, err := h.env.net.deliver(ctx, h, h.links)
	if err == nil {
		h.ended, h.done = true, r
	}
	return err
}

// Messages returns when n messages from some nodes to others are held.
func (n *Nemesis) Messages(ctx context.Context, from, to []string, count int) error {
	some, err := n.linksOf(from, to)
	if err != nil {
		return err
	}
	return n.env.net.await(ctx, some, count)
}

// Deliver releases the next messages from some nodes to others, and goes on holding. It
// waits for those that have not arrived yet.
func (n *Nemesis) Deliver(ctx context.Context, from, to []string, count int) error {
	some, err := n.linksOf(from, to)
	if err != nil {
		return err
	}
	return n.env.net.next(ctx, some, count)
}

func (n *Nemesis) linksOf(from, to []string) ([]directedLink, error) {
	s, err := Plan{FaultRequest: FaultRequest{Nodes: from, Peers: to}}.namedSides(n.env)
	return s.links, err
}
