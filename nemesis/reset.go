package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/nemesis/packetfault"
)

var resetKind = Kind{
	Name:     "reset",
	About:    "end the connections that there are; new ones work. Both ends learn of it, or neither (silently), or one forgets the connection (half-open)",
	Usage:    "[:server|one|leader|halves|minority|majority|holder|waiter|client|NODE][:servers|clients|register][:silently|half-open]",
	Plain:    []string{"one", "client"},
	All:      []string{"holder:servers", "waiter", "client:half-open"},
	Parse:    parseReset,
	Make:     makeReset,
	Lasts:    resetLasts,
	Possible: wireable,
}

// How a reset ends connections.
const (
	ResetLoudly   = ""
	ResetSilently = "silently"
	ResetHalfOpen = "half-open"
)

func parseReset(words []string) (Plan, error) {
	manner := ResetLoudly
	for _, m := range []string{ResetSilently, ResetHalfOpen} {
		rest, found := without(words, m)
		if found && manner != ResetLoudly {
			return Plan{}, fmt.Errorf("%s and %s are two manners", manner, m)
		}
		if words = rest; found {
			manner = m
		}
	}
	if slices.Contains(words, "in") || slices.Contains(words, "out") {
		return Plan{}, errors.New("a connection has both directions: leave in and out away")
	}
	p, err := parseLinks(words)
	p.Manner = manner
	return p, err
}

// resetLasts is how long an end does not learn of the reset; a loud one is over at once.
func resetLasts(e *Env, p Plan, rng *rand.Rand) time.Duration {
	if p.Manner == ResetLoudly {
		return 0
	}
	return linksLast(e, p, rng)
}

func makeReset(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	p.dir, p.Both = "out", false // a link for each pair
	s, err := p.sides(ctx, e, c)
	if err != nil || !p.named() && !allUp(s.inside) {
		return nil, err
	}
	f := &reset{env: e, number: resets.Add(1), manner: p.Manner, nodes: s.hit, from: names(s.inside), links: s.links, held: p.named()}
	for _, x := range s.links {
		f.to = both(f.to, []string{x.to})
	}
	if p.Manner != ResetLoudly {
		f.harm = p.harm(e, s.inside, c)
	}
	return f, nil
}

// resets counts the resets of this process. Each has a number, so that the end of one leaves muted what another has muted.
var resets atomic.Uint64

// reset ends connections. Its links lead from the nodes that are hit to the others.
type reset struct {
	env      *Env
	number   uint64
	manner   string
	nodes    []string
	from, to []string
	links    []directedLink
	held     bool // messages that are held between them are discarded, too
	harm     <-chan struct{}

	broken map[directedLink][]packetfault.FlowPair
	thrown int
}

func (r *reset) Nodes() []string { return r.nodes }

func (r *reset) Detail() string {
	n := 0
	for _, flows := range r.broken {
		n += len(flows)
	}
	text := fmt.Sprintf("%d connections between %s and %s ", n, strings.Join(r.from, ", "), strings.Join(r.to, ", "))
	switch r.manner {
	case ResetSilently:
		text += "broken silently"
	case ResetHalfOpen:
		text += "forgotten by " + strings.Join(r.from, ", ") + " only"
	default:
		text += "reset"
	}
	if r.thrown > 0 {
		text += fmt.Sprintf("; %d held messages discarded", r.thrown)
	}
	return text
}

func (r *reset) Steps() []string { return linkSteps("reset", r.links, r.manner) }

// Await implements Awaiter, as for a cut-off holder.
func (r *reset) Await() <-chan struct{} { return r.harm }

func (r *reset) Inject(ctx context.Context) (err error) {
	r.broken = map[directedLink][]packetfault.FlowPair{}
	if r.held {
		some := append(slices.Clone(r.links), backward(r.links)...)
		if r.thrown, err = r.env.net.discard(ctx, some); err != nil {
			return err
		}
		// Only now may the resets themselves pass. What comes on new connections is held again: the hold goes on.
		defer func() { err = errors.Join(err, r.env.net.holdAgain(ctx, some)) }()
	}
	if r.manner != ResetLoudly {
		if err := r.env.net.mute(ctx, r, r.links); err != nil {
			return err
		}
	}
	for _, x := range r.links {
		order := packetfault.Request{Op: packetfault.Break, By: r.number}
		switch r.manner {
		case ResetSilently:
			order.Op = packetfault.List
		case ResetHalfOpen:
			order.Manner = packetfault.HalfOpen
		}
		got, err := r.env.net.order(ctx, x, order)
		if errors.Is(err, errDown) {
			continue
		}
		if err != nil {
			return err
		}
		r.broken[x] = got.Flows
		if r.manner == ResetSilently && len(got.Flows) > 0 {
			if err := r.mute(ctx, x, got.Flows); err != nil {
				return err
			}
		}
	}
	return nil
}

func backward(some []directedLink) []directedLink {
	var out []directedLink
	for _, x := range some {
		out = append(out, directedLink{x.to, x.from})
	}
	return out
}

// mute lets neither end hear the other on these connections.
func (r *reset) mute(ctx context.Context, x directedLink, flows []packetfault.FlowPair) error {
	from, _, err := r.env.net.ends(x)
	if err != nil {
		return err
	}
	if _, err := r.env.net.order(ctx, x, packetfault.Request{Op: packetfault.Mute, Flows: flows, By: r.number}); err != nil {
		return err
	}
	var back []packetfault.FlowPair
	for _, f := range flows {
		back = append(back, packetfault.FlowPair{To: from.Addr, FromPort: f.ToPort, ToPort: f.FromPort})
	}
	_, err = r.env.net.order(ctx, directedLink{x.to, x.from}, packetfault.Request{Op: packetfault.Mute, Flows: back, By: r.number})
	if errors.Is(err, errDown) {
		return nil
	}
	return err
}

// Verify checks that there was a connection at all, and that the ends that learn of the reset
// have it no more.
func (r *reset) Verify(ctx context.Context) error {
	n := 0
	for x, flows := range r.broken {
		n += len(flows)
		if r.manner == ResetSilently {
			continue
		}
		now, err := r.env.net.order(ctx, x, packetfault.Request{Op: packetfault.List})
		if err != nil && !errors.Is(err, errDown) {
			return err
		}
		for _, f := range flows {
			if slices.Contains(now.Flows, f) {
				return fmt.Errorf("%s still has its connection with %s from port %d", x.from, x.to, f.FromPort)
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("there is no connection between %s and %s", strings.Join(r.from, ", "), strings.Join(r.to, ", "))
	}
	return nil
}

func (r *reset) Heal(ctx context.Context) (all error) {
	if r.manner == ResetLoudly {
		return nil
	}
	some := r.links
	if r.manner == ResetSilently {
		some = append(slices.Clone(some), backward(some)...)
	}
	for _, x := range some {
		if _, err := r.env.net.order(ctx, x, packetfault.Request{Op: packetfault.Unmute, By: r.number}); err != nil && !errors.Is(err, errDown) {
			all = errors.Join(all, err)
		}
	}
	return errors.Join(all, r.env.net.unmute(ctx, r, r.links))
}
