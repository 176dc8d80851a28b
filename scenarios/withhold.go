package scenarios

import (
	"context"

	"go.yaml.in/yaml/v3"
)

// withholdWord keeps messages at their sender, and loses them at its end, which resets their
// connections: "withhold: servers to A".
var withholdWord = stepWord{name: "withhold", fault: "withhold", read: (*parser).withhold, after: (*order).harmed, take: (*Runner).withhold}

func (p *parser) withhold(n *yaml.Node, st *Step, rest string) error {
	return p.sides(n, st, rest, "want two sides, as servers to A (A gets no answer) or A from servers (both ways)")
}

func (r *Runner) withhold(ctx context.Context, st Step) (string, error) {
	request := FaultRequest{Kind: "withhold", Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Both: st.Both}
	return "", r.inject(ctx, request, "withhold "+st.link())
}
