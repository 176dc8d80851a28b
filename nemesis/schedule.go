package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
)

// verifyWithin bounds how long a fault may take to show its effect, and healWithin
// how long a healed node may take to work again.
const (
	verifyWithin = 5 * time.Second
	healWithin   = compose.ReadyWithin + 15*time.Second
)

// Nemesis runs the requested faults, each on its own, so that they overlap.
type Nemesis struct {
	env    *Env
	specs  []Spec
	seed   uint64
	start  int64
	record func(history.Event)

	mu     sync.Mutex
	active []string     // "pause c1"
	draws  []*draw      // of its tracks
	single []*injection // of kinds that are Single, and not healed
}

// New prepares the faults for a cluster whose nodes all run. start is the run's
// start (history.Now). An error means that a fault can never be injected here: the
// machine cannot do it, or no node could be hit.
func New(ctx context.Context, env *Env, specs []Spec, seed uint64, start int64, record func(history.Event)) (*Nemesis, error) {
	env.starts = newStarts(env)
	env.net = newNetwork(env)
	n := &Nemesis{env: env, seed: seed, start: start, record: record}
	env.Cluster.AroundStart(env.starts.around)
	env.replaced = n.replaced
	for _, s := range specs {
		s, err := n.ready(ctx, s)
		if err != nil {
			return nil, s.wrap(err)
		}
		n.specs = append(n.specs, s)
	}
	env.watch = newWatch(env.Holds)
	return n, nil
}

// Observe takes a client's event as soon as it is known.
func (n *Nemesis) Observe(e history.Event) { n.env.watch.observe(e) }

// Active lists the faults that are on.
func (n *Nemesis) Active() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.active)
}

// Run injects faults until harm ends and returns once everything has been observed to be
// healed. If the machine was so slow that a kind of All has not taken effect by then, Run tries
// that kind until late ends: a run that never tried it could not be judged. An error means
// that something was left broken. The end of ctx, of which harm and late are parts, abandons
// what is under way.
func (n *Nemesis) Run(ctx, harm, late context.Context) error {
	tracks := n.tracks()
	n.mu.Lock()
	for _, t := range tracks {
		n.draws = append(n.draws, t.draw)
	}
	n.mu.Unlock()
	errs := make(chan error, len(tracks))
	for i, t := range tracks {
		rng := rand.New(rand.NewPCG(n.seed, uint64(i)))
		go func() { errs <- n.loop(ctx, harm, late, t, rng) }()
	}
	var all error
	for range tracks {
		all = errors.Join(all, <-errs)
	}
	return all
}

// Outstanding lists the kinds of All that have hit no node yet.
func (n *Nemesis) Outstanding() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, d := range n.draws {
		out = append(out, d.outstanding()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (n *Nemesis) loop(ctx, harm, late context.Context, t track, rng *rand.Rand) error {
	next := t.draw.next()
	rest := between(rng, n.env.TTL, 0.5, 1.5)
	if next.Plan.whileHeld() {
		rest = 0
	}
	for {
		while := harm
		if !wait(harm, rest, nil) {
			due, any := t.draw.due()
			if !any || !wait(late, min(rest, n.env.TTL/2), nil) {
				return nil
			}
			next, while = due, late
		}
		effect, err := n.injectOnce(ctx, while, next, rng)
		if err != nil {
			return next.wrap(err)
		}
		if effect {
			t.draw.used(next.Kind.Name)
		}
		next = t.draw.next()
		rest = between(rng, n.env.TTL, t.resting[0], t.resting[1])
		if !effect && t.persistent {
			rest = n.env.TTL / 20
		}
	}
}

// injectOnce injects a fault once, from choosing its nodes to healing them; false says that
// there was no node to hit, or that it did not take effect.
func (n *Nemesis) injectOnce(ctx, harm context.Context, s Spec, rng *rand.Rand) (bool, error) {
	duration := s.Plan.Duration(n.env, rng)
	aware := rng.IntN(2) == 0
	holding := ""
	if s.Plan.whileHeld() || aware {
		next := n.env.watch.next()
		patience := time.NewTimer(2 * n.env.TTL)
		defer patience.Stop()
		select {
		case holding = <-next:
		case <-patience.C:
		case <-harm.Done():
			return false, nil
		}
	}
	f, err := s.Plan.Pick(harm, n.env, rng, holding)
	if harm.Err() != nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if f == nil || s.Kind.Restarts && n.inGroup(f) || !n.claim(s.Kind, f) {
		return false, nil
	}
	defer n.release(s.Kind, f)
	// A fault that has begun is seen through even when the run is over: it must be
	// healed, and the history must say what was done.
	begun := time.Now()
	i, err := n.inject(ctx, s.Kind, f)
	confirmed := err == nil
	if confirmed {
		var done <-chan struct{}
		if a, ok := f.(Awaiter); ok {
			done = a.Await()
		}
		wait(harm, duration, done)
		if l, ok := f.(Lasting); ok {
			wait(harm, time.Until(begun.Add(l.Least())), nil)
		}
	}
	err = i.heal(ctx)
	if failed := (*restartFailedError)(nil); errors.As(err, &failed) {
		i.leave(failed)
		return confirmed, nil
	}
	return confirmed && i.effect() == nil, err
}

// inGroup says that a fault on several nodes is on at one of this fault's nodes. If that node were started again, the fault would be over there, and the history has
// one end for all of its nodes.
func (n *Nemesis) inGroup(f Fault) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.single, func(i *injection) bool {
		hit := i.fault.Nodes()
		return len(hit) > 1 && slices.ContainsFunc(f.Nodes(), func(name string) bool { return slices.Contains(hit, name) })
	})
}

// claim notes the nodes; false says that one of them is already hit by the same kind.
func (n *Nemesis) claim(k Kind, f Fault) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range f.Nodes() {
		if !k.Overlaps && slices.Contains(n.active, k.Name+" "+name) {
			return false
		}
	}
	for _, name := range f.Nodes() {
		n.active = append(n.active, k.Name+" "+name)
	}
	return true
}

func (n *Nemesis) release(k Kind, f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range f.Nodes() {
		if i := slices.Index(n.active, k.Name+" "+name); i >= 0 {
			n.active = slices.Delete(n.active, i, i+1)
		}
	}
}

// wait waits for d or early, whichever is first; false says that ctx ended.
func wait(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-early:
		return true
	case <-ctx.Done():
		return false
	}
}
