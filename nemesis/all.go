package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
)

// All asks for every fault that the cluster supports, aimed at the nodes that matter.
const All = "all"

// None asks for no fault.
const None = "none"

// errNoTarget: the cluster has no node that the fault could hit.
var errNoTarget = errors.New("this cluster has no node that it could hit")

// parseAll makes one spec of the table: each of its injections is drawn from all entries.
func parseAll() (Spec, error) {
	s := Spec{Text: All, OneOf: []Spec{}}
	for _, k := range kinds {
		of, err := k.parseEach(k.All)
		if err != nil {
			return Spec{}, err
		}
		s.OneOf = append(s.OneOf, of...)
	}
	return s, nil
}

// parseEach reads words that may follow the kind's name, one spec for each.
func (k Kind) parseEach(words []string) ([]Spec, error) {
	var out []Spec
	for _, w := range words {
		text := k.Name
		if w != "" {
			text += ":" + w
		}
		s, err := parseOne(k, text, split(w))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// ready leaves of a spec what can be injected into this cluster. An error says that nothing can.
func (n *Nemesis) ready(ctx context.Context, s Spec) (Spec, error) {
	if s.OneOf == nil {
		_, err := n.possible(ctx, s)
		return s, err
	}
	var left []Spec
	var first error
	for _, o := range s.OneOf {
		hits, err := n.possible(ctx, o)
		switch {
		case errors.Is(err, errExternal) && s.Text != All: // a fault that is named must be possible in full
			return s, err
		case err != nil && first == nil:
			first = err
		case err == nil && hits:
			left = append(left, o)
		}
	}
	if len(left) == 0 && first == nil {
		first = errNoTarget
	}
	s.OneOf = left
	if len(left) > 0 {
		return s, nil
	}
	return s, first
}

// possible reports whether a fault would hit a node if there were a holder and a waiter. An
// error says that it can never be injected here.
func (n *Nemesis) possible(ctx context.Context, s Spec) (bool, error) {
	if err := n.env.hasTargets(s.Kind); err != nil {
		return false, err
	}
	if err := s.Kind.Possible(n.env); err != nil {
		return false, err
	}
	anyClient := ""
	for _, node := range n.env.Cluster.Nodes() {
		if node.Role == compose.Client {
			anyClient = node.Name
		}
	}
	n.env.watch = newWatch(n.env.Holds)
	n.env.watch.observe(history.Event{Process: anyClient, F: history.Acquire, Type: history.Invoke})
	f, err := s.Plan.Pick(ctx, n.env, rand.New(rand.NewPCG(0, 0)), anyClient)
	if f != nil && err == nil {
		err = n.env.validateTargets(s.Kind, f)
	}
	return f != nil, err
}

// LeftOut says which kinds of All this machine cannot do, and why, so that no reader takes
// them for tried.
func (n *Nemesis) LeftOut() []string {
	var out []string
	if n.Drawn() == nil {
		return nil
	}
	if text := n.env.leftAlone(); text != "" {
		out = append(out, text)
	}
	for _, k := range kinds {
		if n.env.hasTargets(k) != nil {
			continue // leftAlone says so
		}
		if err := k.Possible(n.env); len(k.All) > 0 && err != nil {
			out = append(out, fmt.Sprintf("--faults %s is without %s: %v", All, k.Name, err))
		}
	}
	return out
}

// Drawn lists what the faults of All are drawn from on this cluster, as they would be
// written one by one; nil where All was not asked for.
func (n *Nemesis) Drawn() []string {
	var out []string
	for _, s := range n.specs {
		if s.Text != All || out != nil {
			continue
		}
		for _, o := range s.OneOf {
			if !slices.Contains(out, o.Text) {
				out = append(out, o.Text)
			}
		}
	}
	return out
}

// draw is the order in which loops go through the entries of a spec: kind after kind, so
// that one with many targets does not push the others out, and within a kind target after
// target, all in an order of chance.
type draw struct {
	mu    sync.Mutex
	rng   *rand.Rand
	spec  Spec
	kinds []string          // those still to come before all come again
	left  map[string][]Spec // by kind: its targets still to come
	owed  []string          // the kinds of All that have hit no node yet
}

func newDraw(s Spec, rng *rand.Rand) *draw {
	d := &draw{rng: rng, spec: s, left: map[string][]Spec{}}
	if s.Text == All {
		d.owed = s.Kinds()
	}
	return d
}

func (d *draw) next() Spec {
	if d.spec.OneOf == nil {
		return d.spec
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kinds) == 0 {
		d.kinds = d.round()
	}
	kind := d.kinds[0]
	d.kinds = d.kinds[1:]
	return d.target(kind)
}

// used notes that a kind has taken effect.
func (d *draw) used(kind string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed = slices.DeleteFunc(d.owed, func(k string) bool { return k == kind })
}

// due is one of a kind that has hit no node yet; false says that all have.
func (d *draw) due() (Spec, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.owed) == 0 {
		return Spec{}, false
	}
	kind := d.owed[0]
	d.owed = append(d.owed[1:], kind) // its turn comes again after the others'
	return d.target(kind), true
}

func (d *draw) outstanding() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.owed))
}

// target is the next one of a kind; mu is held.
func (d *draw) target(kind string) Spec {
	of := d.left[kind]
	if len(of) == 0 {
		for _, s := range d.spec.OneOf {
			if s.Kind.Name == kind {
				of = append(of, s)
			}
		}
		d.rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	}
	d.left[kind] = of[1:]
	return of[0]
}

// round is every kind once, so that a short run tries all of them, and then those again
// that have a larger share of All.
func (d *draw) round() []string {
	var once, again []string
	for _, s := range d.spec.OneOf {
		if slices.Contains(once, s.Kind.Name) {
			continue
		}
		once = append(once, s.Kind.Name)
		if s.HitsClients() { // servers are hit seldom enough as it is
			again = append(again, slices.Repeat([]string{s.Kind.Name}, max(1, s.Kind.Share)-1)...)
		}
	}
	for _, of := range [][]string{once, again} {
		d.rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	}
	return append(once, again...)
}

// track is one loop that injects faults, and how many leases it rests between two of them.
type track struct {
	draw       *draw
	resting    [2]float64
	persistent bool // if there is no node to hit, it tries another at once
}

// tracks are the loops of the nemesis: one for each spec. All has three: at any time two
// clients may be hit, and servers at times, with rests in which the lock is granted. Under
// more faults no client gets it.
func (n *Nemesis) tracks() []track {
	var out []track
	add := func(s Spec, loops int, resting [2]float64) {
		d := newDraw(s, rand.New(rand.NewPCG(n.seed, 1<<32+uint64(len(out)))))
		for range loops {
			out = append(out, track{d, resting, s.OneOf != nil})
		}
	}
	for _, s := range n.specs {
		if s.Text != All {
			add(s, 1, [2]float64{0.5, 2})
			continue
		}
		var clients, servers []Spec
		for _, o := range s.OneOf {
			if o.HitsClients() {
				clients = append(clients, o)
			} else {
				servers = append(servers, o)
			}
		}
		if len(clients) > 0 {
			add(Spec{Text: All, OneOf: clients}, 2, [2]float64{0.2, 1})
		}
		if len(servers) > 0 {
			add(Spec{Text: All, OneOf: servers}, 1, [2]float64{0.5, 2.5})
		}
	}
	return out
}

// Kinds are the names of the kinds of fault that the spec may inject.
func (s Spec) Kinds() []string {
	if s.OneOf == nil {
		return []string{s.Kind.Name}
	}
	var out []string
	for _, o := range s.OneOf {
		out = append(out, o.Kind.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HitsClients says that a client is the target of the spec.
func (s Spec) HitsClients() bool {
	words := strings.Split(s.Text, ":")
	return slices.ContainsFunc(words[1:], func(w string) bool { return slices.Contains([]target{holder, waiter, client}, target(w)) })
}

func (s Spec) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fault %s: %w", s.Text, err)
}
