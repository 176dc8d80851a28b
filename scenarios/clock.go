package scenarios

import (
	"context"
	"time"

	"go.yaml.in/yaml/v3"
)

// clockWord sets a node's clock: "clock: redis3 +5s"; or right again: "clock: redis3 right".
var clockWord = stepWord{name: "clock", fault: "clock", read: (*parser).clock, after: (*order).clock, take: (*Runner).clock}

var clockForm = pattern(`^(\S+)\s+([+-]\S+|right)$`)

func (p *parser) clock(n *yaml.Node, st *Step, rest string) (err error) {
	m := clockForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "clock: want a node and a jump, as redis3 +5s, or right to set it right again")
	}
	if m[2] != "right" {
		if st.By, err = time.ParseDuration(m[2]); err != nil || st.By == 0 {
			return p.errorf(n, "clock: %q is no jump: want one like +5s or -1m", m[2])
		}
	}
	return p.nodes(n, st, m[1])
}

func (o *order) clock(n *yaml.Node, st *Step) error {
	if st.By == 0 {
		return o.undo(n, st, "clock")
	}
	o.broken["clock "+st.Nodes[0]] = st.Line
	return nil
}

// clock sets a clock that is wrong already right first: a jump is from the right time.
func (r *Runner) clock(ctx context.Context, st Step) (string, error) {
	node := st.Nodes[0]
	if st.By == 0 {
		return "", r.undo(ctx, "clock "+node)
	}
	if r.heals["clock "+node] != nil {
		if err := r.undo(ctx, "clock "+node); err != nil {
			return "", err
		}
	}
	return "", r.inject(ctx, FaultRequest{Kind: "clock", Nodes: []string{node}, By: st.By}, "clock "+node)
}
