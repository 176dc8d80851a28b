package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
)

// Deed is one fault that a scenario asks for by name, where a schedule would
// choose its victims and its moment.
type Deed struct {
	Kind  string   // a fault's name as in Kinds
	Nodes []string // who is hit; of a partition, the senders
	// Peers are, of a partition, the receivers; with Both it goes both ways.
	Peers []string
	Both  bool
	By    time.Duration // of a clock: the jump
	Wipe  bool          // of a kill: the data is gone
}

// Possible says what this machine lacks to do the deed; nil where all is there.
func (d Deed) Possible(e *Env) error {
	k, ok := kinds[d.Kind]
	if !ok {
		return fmt.Errorf("unknown fault %q", d.Kind)
	}
	if err := k.Possible(e); err != nil {
		return fmt.Errorf("fault %s: %w", d.Kind, err)
	}
	return nil
}

// Do does the deed, sees that it landed, and returns what undoes it. Both are in
// the history. A deed that did not land is healed at once and is an error.
func (n *Nemesis) Do(ctx context.Context, d Deed) (heal func(context.Context) error, err error) {
	if err := d.Possible(n.env); err != nil {
		return nil, err
	}
	f, err := n.fault(d)
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", d.Kind, err)
	}
	begun := history.Event{Type: history.Info, F: d.Kind, Nodes: f.Nodes(), Phase: history.Begin}
	begun.Time = n.env.now() - n.start
	err = n.inject(ctx, f)
	begun.Detail = f.Detail()
	if err != nil {
		begun.Error = err.Error()
	} else {
		begun.Landed = true
	}
	n.write(begun)
	heal = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, healWithin)
		defer cancel()
		if err := f.Heal(ctx); err != nil {
			return fmt.Errorf("heal %s of %s: %w", d.Kind, strings.Join(f.Nodes(), ", "), err)
		}
		ended := history.Event{Type: history.Info, F: d.Kind, Nodes: f.Nodes(), Phase: history.End, Detail: f.Detail()}
		ended.Time = n.env.now() - n.start
		n.write(ended)
		return nil
	}
	if err != nil {
		err = fmt.Errorf("fault %s on %s did not land: %w", d.Kind, strings.Join(f.Nodes(), ", "), err)
		if herr := heal(context.WithoutCancel(ctx)); herr != nil {
			err = fmt.Errorf("%w; %w", err, herr)
		}
		return nil, err
	}
	return heal, nil
}

func (n *Nemesis) fault(d Deed) (Fault, error) {
	nodes, err := n.nodes(d.Nodes)
	if err != nil {
		return nil, err
	}
	if d.Kind == "partition" {
		peers, err := n.nodes(d.Peers)
		if err != nil {
			return nil, err
		}
		return n.namedCut(nodes, peers, d.Both)
	}
	if !allUp(nodes) {
		return nil, fmt.Errorf("%s: not all of them are up", strings.Join(d.Nodes, ", "))
	}
	switch d.Kind {
	case "pause":
		return &pause{env: n.env, nodes: nodes}, nil
	case "kill":
		return &kill{n.env, nodes, d.Wipe}, nil
	case "clock":
		return &clockJump{n.env, nodes, d.By}, nil
	case "failover":
		return &failover{n.env, nodes[0]}, nil
	case "powerloss":
		return &powerLoss{kill{n.env, nodes, false}, nil}, nil
	}
	return nil, fmt.Errorf("it cannot be asked for by name")
}

func (n *Nemesis) nodes(names []string) ([]compose.Node, error) {
	var out []compose.Node
	for _, name := range names {
		node, ok := n.env.node(name)
		if !ok {
			return nil, fmt.Errorf("no node %q", name)
		}
		out = append(out, node)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no nodes named")
	}
	return out, nil
}

// namedCut cuts the ways from some nodes to others, and with both back as well.
func (n *Nemesis) namedCut(from, to []compose.Node, both bool) (Fault, error) {
	f := &partition{env: n.env, inside: from, nodes: names(from)}
	for _, name := range names(to) {
		if !slices.Contains(f.nodes, name) {
			f.nodes = append(f.nodes, name)
		}
	}
	for _, a := range from {
		for _, b := range to {
			if a.Name == b.Name {
				return nil, fmt.Errorf("%s cannot be cut off from itself", a.Name)
			}
			f.cuts = append(f.cuts, cut{from: a.Name, to: b.Name})
			if both {
				f.cuts = append(f.cuts, cut{from: b.Name, to: a.Name})
			}
		}
	}
	f.detail = strings.Join(names(from), ", ") + " not heard by " + strings.Join(names(to), ", ")
	if both {
		f.detail = strings.Join(names(from), ", ") + " cut off from " + strings.Join(names(to), ", ")
	}
	return f, nil
}
