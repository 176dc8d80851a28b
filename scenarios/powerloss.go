package scenarios

import (
	"context"
	"strings"

	"go.yaml.in/yaml/v3"
)

// powerLossWord takes servers' power, and what they have not synced: "powerloss: redis",
// "powerloss: servers torn". start brings them back.
var powerLossWord = stepWord{name: "powerloss", fault: "powerloss", read: (*parser).powerLoss, after: (*order).powerLoss, take: (*Runner).powerLoss}

func (p *parser) powerLoss(n *yaml.Node, st *Step, rest string) error {
	if before, ok := strings.CutSuffix(rest, " torn"); ok {
		rest, st.Torn = strings.TrimRight(before, " "), true
	}
	return p.nodes(n, st, rest)
}

func (o *order) powerLoss(n *yaml.Node, st *Step) error {
	for _, node := range st.Nodes {
		if o.clients[node] != nil {
			return o.p.errorf(n, "powerloss: %s is a client and keeps nothing: kill: %s", node, node)
		}
		if err := o.isUp(n, st, node); err != nil {
			return err
		}
		o.broken["powerloss "+node] = st.Line
	}
	return nil
}

// powerLoss hits all at once: one that still ran could keep what the others lose.
func (r *Runner) powerLoss(ctx context.Context, st Step) (string, error) {
	heal, err := r.stage.Inject(ctx, FaultRequest{Kind: "powerloss", Nodes: r.resolve(st.Nodes), Torn: st.Torn})
	if err != nil {
		return "", err
	}
	for _, node := range r.resolve(st.Nodes) {
		r.heals["powerloss "+node] = heal // the first one that starts starts all
		r.order = append(r.order, "powerloss "+node)
	}
	return "", nil
}
