package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/nemesis/packetfault"
)

// seen is how the effect of a shape is seen.
type seen struct {
	// fate is an error unless what became of one packet shows the shape: it alone, whatever
	// else is done to the link.
	fate func(own packetfault.Shape, f packetfault.Fate) error
	// measure, if there is one, measures the effect on links that are up, and says what it
	// measured.
	measure func(ctx context.Context, s *shaping, up []directedLink) (measured string, err error)
}

// parseShape reads the links of a fault that makes links worse, and calls read with each
// value, which begins with a digit.
func parseShape(words []string, read func(value string) error) (Plan, error) {
	var rest []string
	for _, w := range words {
		if w == "" || w[0] < '0' || w[0] > '9' {
			rest = append(rest, w)
			continue
		}
		if err := read(w); err != nil {
			return Plan{}, err
		}
	}
	return parseLinks(rest)
}

// makeShaping makes the plan's links as bad as shape. done says so to people; value is how a
// scenario writes it.
func makeShaping(ctx context.Context, e *Env, p Plan, c chance, shape packetfault.Shape, done, value string, seen seen) (Fault, error) {
	s, err := p.sides(ctx, e, c)
	if err != nil || len(s.inside) == 0 {
		return nil, err
	}
	f := &shaping{env: e, seen: seen, shape: shape, done: done, steps: linkSteps(p.Kind, s.links, value), nodes: s.hit, links: s.links, harm: p.harm(e, s.inside, c)}
	switch s.dir {
	case "in":
		f.who = s.others + " to " + s.who()
	case "out":
		f.who = s.who() + " to " + s.others
	default:
		f.who = s.who() + " and " + s.others
	}
	return f, nil
}

// shaping makes links slow or lossy.
type shaping struct {
	env   *Env
	seen  seen
	who   string
	done  string
	steps []string
	nodes []string
	links []directedLink
	shape packetfault.Shape
	harm  <-chan struct{}

	before   packetCounts // at the beginning, under other faults' shapes
	measured string
	lost     string // at the end
}

func (s *shaping) Nodes() []string { return s.nodes }

func (s *shaping) Detail() string {
	text := s.who + " " + s.done
	for _, more := range []string{s.measured, s.lost} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

func (s *shaping) Steps() []string { return s.steps }

// Await implements Awaiter, as for a cut-off holder.
func (s *shaping) Await() <-chan struct{} { return s.harm }

func (s *shaping) Inject(ctx context.Context) error {
	if err := s.env.net.shape(ctx, s, s.links, s.shape); err != nil {
		return err
	}
	s.before = s.env.net.counts(ctx, s.links)
	return nil
}

func (s *shaping) Verify(ctx context.Context) (err error) {
	var up []directedLink
	for _, x := range s.links {
		from, to, err := s.env.net.ends(x)
		if err == nil && !down(from) && !down(to) {
			up = append(up, x)
		}
	}
	if len(up) == 0 {
		return errors.New("an end of every link is down")
	}
	if err := s.env.net.seen(ctx, up, func(f packetfault.Fate) error { return s.seen.fate(s.shape, f) }); err != nil || s.seen.measure == nil {
		return err
	}
	s.measured, err = s.seen.measure(ctx, s, up)
	return err
}

func (s *shaping) Heal(ctx context.Context) error {
	// Another fault may lose packets of these links in its own way: those are not counted.
	now, lost := s.env.net.counts(ctx, s.links), 0
	if now.all() < s.before.all() { // a node that has started anew counts from nothing
		s.before = packetCounts{}
	}
	if s.shape.Loss > 0 {
		lost += now.lost - s.before.lost
	}
	if s.shape.Flap > 0 {
		lost += now.down - s.before.down
	}
	if lost > 0 {
		s.lost = fmt.Sprintf("%d of %d packets lost", lost, now.all()-s.before.all())
	}
	return s.env.net.unshape(ctx, s, s.links)
}
