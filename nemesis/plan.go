package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/link"
)

// FaultRequest is one fault on nodes that are named.
type FaultRequest struct {
	Kind  string   // a fault's name as in Kinds
	Nodes []string // that are hit; of a partition, the senders
	// Peers are, of a partition, the receivers; with Both it goes in both directions.
	Peers []string
	Both  bool
	// By, Rate and Strobe are how a clock goes wrong: a jump, how many seconds it counts in
	// a true one (0 is 1), a jump to and fro.
	By     time.Duration
	Rate   float64
	Strobe time.Duration
	Wipe   bool // of a kill: the data is gone
	// Manner is, of a reset, how connections end: ResetLoudly, ResetSilently, ResetHalfOpen.
	Manner string
	// Disk is what is wrong with a disk: stall, full or eio; of a stall, Stall is how long a
	// sync takes, 0 for as long as the fault is on.
	Disk  string
	Stall time.Duration
	Torn  bool // of a power loss: a part of one write is left
	// Slow, Loss and Flap are how bad a link is; Loss is the part of the packets that is lost,
	// Flap how long it is down, and up, each time.
	Slow link.Slow
	Loss float64
	Flap time.Duration
}

// Possible says what this machine lacks to do it; nil where all is there.
func (r FaultRequest) Possible(e *Env) error {
	k, ok := lookup(r.Kind)
	if !ok {
		return fmt.Errorf("unknown fault %q", r.Kind)
	}
	if err := e.hasTargets(k); err != nil {
		return fmt.Errorf("fault %s: %w", r.Kind, err)
	}
	if err := k.Possible(e); err != nil {
		return fmt.Errorf("fault %s: %w", r.Kind, err)
	}
	return nil
}

// Plan is a fault as it was requested: what a request has, for named nodes or for a target.
// Of a target, the nodes are chosen anew each time, and so is what the request leaves open.
type Plan struct {
	FaultRequest
	target target       // "": the nodes are named
	links  compose.Role // of a fault of links: only links to nodes of this role; "" all but the register
	dir    string       // of a fault of links: "in" to the target, "out" from it, "" both
	strobe bool         // of a clock: it strobes, also if Strobe is left open
	held   bool         // it is triggered only while a client holds the lock
}

// chance is what chooses where a plan leaves something open.
type chance struct {
	rng    *rand.Rand
	holder string // the client that has read and not yet written; "" if a timer chose the moment
}

// Pick makes the fault. holder is the client that has just read and not yet written, "" if a
// timer chose the moment. A nil fault means that there is no node to hit now.
func (p Plan) Pick(ctx context.Context, e *Env, rng *rand.Rand, holder string) (Fault, error) {
	k, ok := lookup(p.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown fault %q", p.Kind)
	}
	return k.Make(ctx, e, p, chance{rng, holder})
}

// Duration is how long the fault stays on.
func (p Plan) Duration(e *Env, rng *rand.Rand) time.Duration {
	k, _ := lookup(p.Kind)
	if k.Lasts == nil {
		return 0
	}
	return k.Lasts(e, p, rng)
}

// whileHeld: its trigger is that a client has read and not yet written. Any other fault is
// triggered by that half of the time, and by a timer else.
func (p Plan) whileHeld() bool { return p.held || p.target == holder }

// named says that the plan names its nodes, and so leaves nothing open.
func (p Plan) named() bool { return p.target == "" }

// victims are the nodes that the plan hits. None means that those chosen are not all up; where
// they are named that is an error.
func (p Plan) victims(ctx context.Context, e *Env, c chance) ([]compose.Node, error) {
	if p.named() {
		nodes, err := e.named(p.Nodes)
		if err == nil && !allUp(nodes) {
			err = fmt.Errorf("%s: not all of them are up", strings.Join(p.Nodes, ", "))
		}
		return nodes, err
	}
	nodes, err := p.target.pick(ctx, e, c.rng, c.holder)
	if err != nil || !allUp(nodes) {
		return nil, err
	}
	return nodes, nil
}

// harm closes when a holder among these nodes has been hit for long enough, which another
// client's read or write shows; nil if nothing shows it.
func (p Plan) harm(e *Env, nodes []compose.Node, c chance) <-chan struct{} {
	if p.target != holder {
		return nil
	}
	return e.watch.harm(nodes[0].Name, c.rng.IntN(3) > 0)
}

// without takes a word out, and says whether it was there.
func without(words []string, word string) (rest []string, found bool) {
	i := slices.Index(words, word)
	if i < 0 {
		return words, false
	}
	return slices.Delete(slices.Clone(words), i, i+1), true
}

// oneTarget reads at most one word, a target; without one it is any server.
func oneTarget(words []string) (target, error) {
	switch len(words) {
	case 0:
		return one, nil
	case 1:
		if words[0] == "" {
			return "", errors.New("empty target")
		}
		return target(words[0]), nil
	}
	return "", errors.New("too many words")
}

// serverTarget is oneTarget of a fault of servers only.
func serverTarget(words []string) (target, error) {
	t, err := oneTarget(words)
	if t == holder || t == waiter || t == client {
		err = fmt.Errorf("%s is no server, and it hits servers only", t)
	}
	return t, err
}

// listed writes nodes as a step of a scenario does.
func listed(nodes []string) string { return strings.Join(nodes, ", ") }

// named finds nodes, at least one, as they are now.
func (e *Env) named(names []string) ([]compose.Node, error) {
	var out []compose.Node
	for _, name := range names {
		node, ok := e.node(name)
		if !ok {
			return nil, fmt.Errorf("no node %q: have %s", name, listed(e.nodeNames()))
		}
		out = append(out, node)
	}
	if len(out) == 0 {
		return nil, errors.New("no nodes named")
	}
	return out, nil
}
