package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/picklock/picklock/nemesis/packetfault"
)

// shapePlan is what the faults that make links slow or lossy have in common. Their words
// are those of a partition, and values, which begin with a digit.
type shapePlan struct {
	partitionPlan
	// shape is how bad the links get, and done what is said of it.
	shape func(e *Env, rng *rand.Rand) (s packetfault.Shape, done string)
	seen  seen
}

// seen is how the effect of a shape is seen.
type seen struct {
	// fate is an error unless what became of one packet shows the shape: it alone, whatever
	// else is done to the way.
	fate func(own packetfault.Shape, f packetfault.Fate) error
	// measure, if there is one, measures the effect on ways that are up, and says what it
	// measured.
	measure func(ctx context.Context, s *shaping, up []directedLink) (measured string, err error)
}

// linkWords are what links are written with.
const linkWords = "[:server|one|leader|halves|minority|majority|holder|waiter|client|NODE][:servers|clients|register][:in|out]"

// parseShape reads the links, and hands each value to read.
func parseShape(words []string, read func(value string) error) (shapePlan, error) {
	var rest []string
	for _, w := range words {
		if w == "" || w[0] < '0' || w[0] > '9' {
			rest = append(rest, w)
			continue
		}
		if err := read(w); err != nil {
			return shapePlan{}, err
		}
	}
	links, err := parseLinks(rest)
	return shapePlan{partitionPlan: links}, err
}

func (p shapePlan) Pick(ctx context.Context, e *Env, rng *rand.Rand, holding string) (Fault, error) {
	inside, links, err := p.choose(ctx, e, rng, holding)
	if err != nil || len(inside) == 0 {
		return nil, err
	}
	f := &shaping{env: e, seen: p.seen, nodes: linked(inside, links)}
	f.shape, f.done = p.shape(e, rng)
	for _, x := range links {
		f.links = append(f.links, x)
	}
	if p.target == holder {
		f.harm = e.watch.harm(inside[0].Name, rng.IntN(3) > 0)
	}
	who, others := strings.Join(names(inside), ", "), p.others(inside)
	switch p.dir {
	case "in":
		f.who = others + " to " + who
	case "out":
		f.who = who + " to " + others
	default:
		f.who = who + " and " + others
	}
	return f, nil
}

// makeShaping makes the links between the request's nodes as bad as s, which done says.
func makeShaping(e *Env, r FaultRequest, s packetfault.Shape, done string, seen seen) (Fault, error) {
	from, to, err := r.sides(e)
	if err != nil {
		return nil, err
	}
	between := " to "
	if r.Both {
		between = " and "
	}
	f := &shaping{env: e, seen: seen, shape: s, done: done, nodes: both(r.Nodes, r.Peers), who: strings.Join(r.Nodes, ", ") + between + strings.Join(r.Peers, ", ")}
	f.links, err = linksBetween(from, to, r.Both)
	return f, err
}

// shaping makes ways slow or lossy.
type shaping struct {
	env   *Env
	seen  seen
	who   string
	done  string
	nodes []string
	links []directedLink
	shape packetfault.Shape
	harm  <-chan struct{}

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

// Await implements Awaiter, as for a cut-off holder.
func (s *shaping) Await() <-chan struct{} { return s.harm }

func (s *shaping) Inject(ctx context.Context) error { return s.env.net.shape(ctx, s, s.links, s.shape) }

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
	if lost, passed := s.env.net.counts(ctx, s.links); lost > 0 {
		s.lost = fmt.Sprintf("%d of %d packets lost", lost, lost+passed)
	}
	return s.env.net.unshape(ctx, s, s.links)
}
