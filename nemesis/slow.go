package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/nemesis/packetfault"
)

var slowKind = Kind{
	Name:     "slow",
	About:    "make links slow: each packet comes later by a delay, and no faster than a rate; packets do not overtake one another",
	Usage:    linkWords + "[:DELAY[±JITTER]][:RATEkB/s]",
	Plain:    []string{"one", "client"},
	All:      []string{"client", "holder:servers", "waiter"},
	Parse:    parseSlow,
	Make:     makeSlow,
	Lasts:    linksLast,
	Possible: wireable,
	Overlaps: true, // shapes are combined
}

// parseSlow reads "slow:c1:50ms±10ms:100kB/s".
func parseSlow(words []string) (Plan, error) {
	var slow link.Slow
	p, err := parseShape(words, slow.Read)
	p.Slow = slow
	return p, err
}

func makeSlow(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	s := packetfault.Shape{Delay: p.Slow.Delay, Jitter: p.Slow.Jitter, Rate: p.Slow.Rate}
	switch {
	case s.Delay > 0 || s.Rate > 0:
	case p.named():
		return nil, errors.New("neither a delay nor a rate is given")
	default: // round trips of a part of a lease, up to more than one
		s.Delay = between(c.rng, e.TTL, 0.02, 0.6).Round(time.Millisecond)
		s.Jitter = s.Delay / 2
	}
	return makeShaping(ctx, e, p, c, s, slowness(s), link.Slow{Delay: s.Delay, Jitter: s.Jitter, Rate: s.Rate}.Write(), seen{slowSeen, roundTrips})
}

// slowness says how slow: "slowed by 50ms±10ms, to 100 kB/s".
func slowness(s packetfault.Shape) string {
	var parts []string
	if s.Delay > 0 {
		parts = append(parts, "by "+s.Delay.String())
	}
	if s.Jitter > 0 && s.Delay > 0 {
		parts[0] += "±" + s.Jitter.String()
	}
	if s.Rate > 0 {
		parts = append(parts, fmt.Sprintf("to %g kB/s", float64(s.Rate)/1000))
	}
	if parts == nil {
		return "not slowed"
	}
	return "slowed " + strings.Join(parts, " and ")
}

// slowSeen: a packet has to wait, on a link that is at least as slow as it has to be.
func slowSeen(own packetfault.Shape, f packetfault.Fate) error {
	is := f.Shape
	switch {
	case is.Delay < own.Delay || own.Rate > 0 && (is.Rate == 0 || is.Rate > own.Rate):
		return fmt.Errorf("it is %s", slowness(is))
	case f.Late <= 0 || f.Late < own.Delay-own.Jitter:
		return fmt.Errorf("a packet had to wait for %v", f.Late)
	}
	return nil
}

// roundTrips measures the time there and back on each link, which must be no less than what its
// slow directions add to it.
func roundTrips(ctx context.Context, s *shaping, up []directedLink) (string, error) {
	type measure struct {
		took time.Duration
		err  error
	}
	measures := make(chan measure, len(up))
	for _, x := range up {
		least := s.shape.Delay - s.shape.Jitter
		for _, y := range up {
			if y == (directedLink{x.to, x.from}) {
				least += s.shape.Delay - s.shape.Jitter
			}
		}
		go func() {
			r, err := s.env.net.order(ctx, x, packetfault.Request{Op: packetfault.Ping})
			switch {
			case err != nil: // another fault may have cut the link meanwhile
				measures <- measure{}
			case r.Took < least:
				measures <- measure{err: fmt.Errorf("%s to %s: there and back took %v, want at least %v", x.from, x.to, r.Took.Round(time.Microsecond), least)}
			default:
				measures <- measure{took: r.Took}
			}
		}()
	}
	var low, high time.Duration
	var all error
	for range up {
		m := <-measures
		all = errors.Join(all, m.err)
		if m.took > 0 && (low == 0 || m.took < low) {
			low = m.took
		}
		high = max(high, m.took)
	}
	if all != nil || low == 0 {
		return "", all
	}
	text := "measured " + low.Round(100*time.Microsecond).String()
	if high.Round(100*time.Microsecond) != low.Round(100*time.Microsecond) {
		text += " to " + high.Round(100*time.Microsecond).String()
	}
	return text + " there and back", nil
}
