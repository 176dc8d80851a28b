package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis/clock"
)

var clockKind = Kind{
	Name:  "clock",
	About: "make the wall clock of single processes jump, run fast or slow, or strobe; all others keep theirs",
	Usage: "[:client|leader|server|one|minority|majority|all|NODE][:+DURATION|:-DURATION|:xRATE|:strobe[:DURATION]]",
	Plain: []string{"one", "client"},
	All:   []string{"holder", "waiter", "client", "client:x2", "client:strobe", "leader", "leader:x2", "leader:strobe", "majority"},
	Parse: parseClock,
	Make:  makeClock,
	Lasts: clockLasts,
	Possible: func(e *Env) error {
		if _, err := e.Injector.Do(context.Background(), Op{Name: OpTryClock}); err != nil {
			return fmt.Errorf("this machine cannot shift a process's clock: %w", err)
		}
		return nil
	},
	Single: true,
}

// clockStrobes is the word for a clock that jumps to and fro.
const clockStrobes = "strobe"

func parseClock(words []string) (p Plan, err error) {
	words = slices.Clone(words)
	if i := slices.Index(words, clockStrobes); i >= 0 && i >= len(words)-2 {
		p.strobe = true
		if i == len(words)-2 {
			p.Strobe, err = parseJump(words[i+1])
		}
		words = words[:i]
	} else if n := len(words); n > 0 && words[n-1] != "" {
		switch last := words[n-1]; {
		case strings.ContainsAny(last[:1], "+-"):
			p.By, err = parseJump(last)
			words = words[:n-1]
		case isRate(last):
			p.Rate, err = parseRate(last)
			words = words[:n-1]
		}
	}
	if err == nil {
		err = p.clock().Check()
	}
	if err != nil {
		return p, err
	}
	p.target, err = oneTarget(words)
	return p, err
}

// clock is the setting that the request asks for; the right one leaves it open.
func (r FaultRequest) clock() clock.Setting {
	return clock.Setting{Offset: r.By, Rate: r.Rate, Strobe: r.Strobe}
}

func parseJump(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d == 0 {
		err = errors.New("a jump of nothing")
	}
	return d, err
}

// isRate tells a rate, x and a number, from a node whose name begins with that letter.
func isRate(word string) bool {
	return len(word) > 1 && word[0] == 'x' && strings.ContainsRune("0123456789.+-", rune(word[1]))
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text[1:], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no rate: want one like x1.1", text)
	}
	if rate == 1 || rate == 0 {
		return 0, fmt.Errorf("%q is no wrong rate: want one like x1.1", text)
	}
	return rate, nil
}

func clockLasts(e *Env, p Plan, rng *rand.Rand) time.Duration {
	if p.Rate != 0 || p.strobe {
		return between(rng, e.TTL, 1, 3) // whole leases
	}
	return between(rng, e.TTL, 0.5, 2)
}

func makeClock(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	nodes, err := p.victims(ctx, e, c)
	if err != nil || nodes == nil {
		return nil, err
	}
	to := p.clock()
	switch {
	case p.named() || !to.Right():
	case p.strobe:
		to.Strobe = between(c.rng, e.TTL, 0.2, 2).Round(time.Millisecond)
	default:
		// Forward by more than a lease: a backward jump only makes leases longer.
		to.Offset = between(c.rng, e.TTL, 2, 10).Round(time.Millisecond)
	}
	if err := to.Check(); err != nil {
		return nil, err
	}
	return &clockFault{env: e, nodes: nodes, to: to}, nil
}

type clockFault struct {
	env      *Env
	nodes    []compose.Node
	to       clock.Setting
	measured []string // the rates of the nodes' clocks
}

func (c *clockFault) Nodes() []string { return names(c.nodes) }

func (c *clockFault) Detail() string {
	text := "wall clock " + wrongness(c.to)
	if len(c.measured) > 0 {
		text += ", measured " + strings.Join(c.measured, ", ")
	}
	return text
}

func (c *clockFault) Steps() []string {
	var out []string
	for _, n := range c.nodes {
		out = append(out, "clock: "+n.Name+" "+wrongness(c.to))
	}
	return out
}

// wrongness says how a clock is wrong, in the words of --faults.
func wrongness(s clock.Setting) string {
	var words []string
	if s.Offset != 0 {
		words = append(words, signed(s.Offset))
	}
	if s.Rate != 0 && s.Rate != 1 {
		words = append(words, "x"+strconv.FormatFloat(s.Rate, 'g', 6, 64))
	}
	if s.Strobe != 0 {
		words = append(words, clockStrobes+" "+signed(s.Strobe))
	}
	if words == nil {
		return "right"
	}
	return strings.Join(words, " ")
}

func (c *clockFault) Inject(ctx context.Context) error {
	for _, n := range c.nodes {
		if _, err := c.env.Injector.Do(ctx, Op{Name: OpSetClock, PID: n.PID, Clock: c.to}); err != nil {
			return fmt.Errorf("set the clock of %s: %w", n.Name, err)
		}
	}
	return nil
}

func (c *clockFault) Verify(ctx context.Context) error {
	if c.to.Rate == 0 || c.to.Rate == 1 {
		return c.readBack(ctx, c.to)
	}
	return c.measure(ctx)
}

// measureFor is how long a rate is measured, at least: a lease is much longer.
const measureFor = 100 * time.Millisecond

// measureTimes is how often a rate is measured at most, if a busy machine makes it inexact.
const measureTimes = 10

// measure checks that each clock gains as much as it has to.
func (c *clockFault) measure(ctx context.Context) error {
	// reading is how far a clock was ahead at a time between the two.
	type reading struct {
		before, after int64
		ahead         time.Duration
	}
	read := func(n compose.Node) (r reading, err error) {
		r.before = history.Now()
		s, err := c.env.Injector.Do(ctx, Op{Name: OpReadClock, PID: n.PID})
		r.after, r.ahead = history.Now(), s.Clock.Offset
		if err != nil {
			err = fmt.Errorf("read the clock of %s: %w", n.Name, err)
		}
		return r, err
	}
	first := make([]reading, len(c.nodes))
	for i, n := range c.nodes {
		var err error
		if first[i], err = read(n); err != nil {
			return err
		}
	}
	for i, n := range c.nodes {
		var gained, least, most float64
		for try := range measureTimes {
			// Those after the first have run that long already.
			if (i == 0 || try > 0) && !wait(ctx, measureFor, nil) {
				return ctx.Err()
			}
			last, err := read(n)
			if err != nil {
				return err
			}
			gained = float64(last.ahead - first[i].ahead)
			least, most = float64(last.before-first[i].after), float64(last.after-first[i].before)
			if most-least < most/100 {
				break
			}
		}
		rate := 1 + gained/((least+most)/2)
		c.measured = append(c.measured, fmt.Sprintf("x%.4f", rate))
		const slack = float64(time.Millisecond) / 10 // this process's clock is being slewed, too
		gain := c.to.Rate - 1
		if lo, hi := min(gain*least, gain*most), max(gain*least, gain*most); gained < lo-slack || gained > hi+slack {
			return fmt.Errorf("the clock of %s runs at x%.4f, not %s", n.Name, rate, wrongness(c.to))
		}
	}
	return nil
}

func (c *clockFault) readBack(ctx context.Context, want clock.Setting) error {
	for _, n := range c.nodes {
		if now, ok := c.env.node(n.Name); want.Right() && (!ok || now.PID != n.PID) {
			continue
		}
		r, err := c.env.Injector.Do(ctx, Op{Name: OpReadClock, PID: n.PID})
		got := r.Clock
		if want.Right() && errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the clock of %s back: %w", n.Name, err)
		}
		if (got.Offset-want.Offset).Abs() > time.Millisecond || got.Strobe != want.Strobe || want.Right() && !got.Right() {
			return fmt.Errorf("the clock of %s is set to %s, not to %s", n.Name, wrongness(got), wrongness(want))
		}
	}
	return nil
}

// Heal sets each clock right, even if another fails.
func (c *clockFault) Heal(ctx context.Context) (all error) {
	for _, n := range c.nodes {
		if now, ok := c.env.node(n.Name); !ok || now.PID != n.PID {
			continue // a process that was started anew has the true clock
		}
		if _, err := c.env.Injector.Do(ctx, Op{Name: OpSetClock, PID: n.PID}); err != nil && !errors.Is(err, os.ErrProcessDone) {
			all = errors.Join(all, fmt.Errorf("set the clock of %s right: %w", n.Name, err))
		}
	}
	return errors.Join(all, c.readBack(ctx, clock.Setting{}))
}

func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}
