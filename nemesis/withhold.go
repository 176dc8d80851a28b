package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/nemesis/packetfault"
)

var withholdKind = Kind{
	Name:     "withhold",
	About:    "keep messages at their sender, then lose them and reset their connections: who waits for an answer asks again",
	Usage:    linkWords,
	Plain:    []string{"one", "client"},
	All:      []string{"client:servers:in"},
	Parse:    parseLinks,
	Make:     makeWithhold,
	Lasts:    linksLast,
	Possible: wireable,
	Overlaps: true, // holds are counted
}

func makeWithhold(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	f, err := makeHold(ctx, e, p, c)
	if err != nil || f == nil {
		return nil, err
	}
	return &withhold{hold: f.(*hold)}, nil
}

// withhold is a hold whose messages are never delivered.
type withhold struct {
	*hold
	lost, broken int // messages and connections
}

func (w *withhold) Detail() string {
	if !w.ended {
		return strings.TrimSuffix(w.hold.Detail(), " held") + " withheld"
	}
	return fmt.Sprintf("%d messages lost and %d connections reset after %s", w.lost, w.broken, time.Since(w.begun).Round(time.Millisecond))
}

func (w *withhold) Steps() []string { return linkSteps("withhold", w.links, "") }

// Effect implements Effective. Until its end nobody can say whether a message came that was
// withheld.
func (w *withhold) Effect() error {
	if w.lost == 0 {
		return errors.New("no message came while it was on")
	}
	return nil
}

// Heal has the senders reset the connections and loses what waits. In this order: what is lost on
// a connection that is still there is sent again at once.
func (w *withhold) Heal(ctx context.Context) error {
	for _, x := range w.links {
		r, err := w.env.net.order(ctx, x, packetfault.Request{Op: packetfault.Break})
		if err != nil && !errors.Is(err, errDown) {
			return err
		}
		w.broken += len(r.Flows)
	}
	lost, err := w.env.net.lose(ctx, w.hold, w.links)
	w.lost += lost
	w.ended = err == nil
	return err
}

// lose throws away what waits on these links, unless another fault holds it, and counts it.
func (nw *network) lose(ctx context.Context, by owner, some []directedLink) (lost int, err error) {
	var free []directedLink
	err = nw.change(ctx, some, func(x directedLink, l *linkFaults) {
		if delete(l.held, by); len(l.held) == 0 && !slices.Contains(free, x) {
			free = append(free, x)
		}
	}, func() error {
		r, err := nw.orderAll(ctx, free, packetfault.Request{Op: packetfault.Lose})
		lost = r.Messages
		return err
	})
	return lost, err
}
