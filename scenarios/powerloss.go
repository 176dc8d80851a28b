package scenarios

import (
	"context"

	"go.yaml.in/yaml/v3"
)

// powerLossWord takes a server's power, and what it has not synced since its mark:
// "powerloss: redis". start brings it back.
var powerLossWord = stepWord{name: "powerloss", fault: "powerloss", read: (*parser).server, after: (*order).powerLoss, take: (*Runner).powerLoss}

func (o *order) powerLoss(n *yaml.Node, st *Step) error {
	node := st.Nodes[0]
	if err := o.isUp(n, st, node); err != nil {
		return err
	}
	if !o.marked[node] {
		return o.p.errorf(n, "powerloss: nothing says since when %s has not synced: mark: %s first", node, node)
	}
	o.broken["powerloss "+node] = st.Line
	return nil
}

func (r *Runner) powerLoss(ctx context.Context, st Step) (string, error) {
	return "", r.each(st.Nodes, func(node string) error {
		return r.inject(ctx, FaultRequest{Kind: "powerloss", Nodes: []string{node}}, "powerloss "+node)
	})
}
