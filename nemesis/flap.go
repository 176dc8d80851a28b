package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picklock/picklock/nemesis/packetfault"
)

var flapKind = Kind{
	Name:     "flap",
	About:    "cut links and heal them, again and again: so long down, so long up",
	Usage:    linkWords + "[:DURATION]",
	Plain:    []string{"one", "client"},
	All:      []string{"client"},
	Parse:    parseFlap,
	Make:     makeFlap,
	Lasts:    linksLast,
	Possible: wireable,
	Overlaps: true, // shapes are combined
}

// parseFlap reads "flap:leader:200ms".
func parseFlap(words []string) (Plan, error) {
	var each time.Duration
	p, err := parseShape(words, func(value string) (err error) {
		if each, err = time.ParseDuration(value); err != nil || each <= 0 {
			return fmt.Errorf("%q is no length of time: want one like 200ms", value)
		}
		return nil
	})
	p.Flap = each
	return p, err
}

func makeFlap(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	every := p.Flap
	switch {
	case every > 0:
	case p.named():
		return nil, fmt.Errorf("%v is no time to be down and up again", every)
	default:
		every = between(c.rng, e.TTL, 0.1, 0.7).Round(time.Millisecond)
	}
	return makeShaping(ctx, e, p, c, packetfault.Shape{Flap: every}, fmt.Sprintf("cut and healed every %v", every), every.String(), seen{fate: flapSeen})
}

// flapSeen: a packet was lost while the link was down, and it is down as long as it has to be.
func flapSeen(own packetfault.Shape, f packetfault.Fate) error {
	switch {
	case f.Shape.Flap != own.Flap:
		return fmt.Errorf("it is cut and healed every %v, not %v", f.Shape.Flap, own.Flap)
	case !f.Down:
		return errors.New("no packet was lost")
	}
	return nil
}
