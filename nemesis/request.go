package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/link"
)

// FaultRequest is one fault that is asked for by name, where a plan would choose its
// victims and its moment.
type FaultRequest struct {
	Kind  string   // a fault's name as in Kinds
	Nodes []string // who is hit; of a partition, the senders
	// Peers are, of a partition, the receivers; with Both it goes both ways.
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

// Inject does the fault, sees that it landed, and returns what undoes it. Both are in
// the history. A fault that did not land is healed at once and is an error. Once heal
// has succeeded it does nothing any more.
func (n *Nemesis) Inject(ctx context.Context, r FaultRequest) (heal func(context.Context) error, err error) {
	if err := r.Possible(n.env); err != nil {
		return nil, err
	}
	k, _ := lookup(r.Kind)
	f, err := k.Make(n.env, r)
	if err == nil {
		err = n.env.spares(k, f)
	}
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", r.Kind, err)
	}
	i, err := n.inject(ctx, k, f)
	if err != nil {
		err = fmt.Errorf("fault %s on %s did not land: %w", r.Kind, strings.Join(f.Nodes(), ", "), err)
		if herr := i.heal(context.WithoutCancel(ctx)); herr != nil {
			err = fmt.Errorf("%w; %w", err, herr)
		}
		return nil, err
	}
	return i.heal, nil
}

// victims are the nodes that the request names, all of which have to be up.
func (r FaultRequest) victims(e *Env) ([]compose.Node, error) {
	nodes, err := e.named(r.Nodes)
	if err == nil && !allUp(nodes) {
		err = fmt.Errorf("%s: not all of them are up", strings.Join(r.Nodes, ", "))
	}
	return nodes, err
}

// named finds nodes, at least one, as they are now.
func (e *Env) named(names []string) ([]compose.Node, error) {
	var out []compose.Node
	for _, name := range names {
		node, ok := e.node(name)
		if !ok {
			return nil, fmt.Errorf("no node %q", name)
		}
		out = append(out, node)
	}
	if len(out) == 0 {
		return nil, errors.New("no nodes named")
	}
	return out, nil
}
