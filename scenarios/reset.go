package scenarios

import (
	"context"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resetWord ends the connections between two sides, and throws away what is held between
// them: "reset: A to redis", "reset: A to redis silently", "reset: A to redis half-open".
var resetWord = stepWord{name: "reset", fault: "reset", read: (*parser).reset, after: (*order).reset, take: (*Runner).reset}

func (p *parser) reset(n *yaml.Node, st *Step, rest string) error {
	for _, manner := range []string{"silently", "half-open"} {
		if before, ok := strings.CutSuffix(rest, " "+manner); ok {
			rest, st.Manner = strings.TrimSpace(before), manner
			break
		}
	}
	if strings.Contains(rest, " from ") {
		return p.errorf(n, "reset: a connection has both directions: write A to redis")
	}
	return p.sides(n, st, rest, "want two sides, as A to redis, and silently or half-open after them if not both ends get the reset")
}

// connections are the step's two sides, as a hold writes them.
func (st *Step) connections() string {
	return strings.TrimSpace(strings.TrimSuffix(st.ways(), st.Manner))
}

func (o *order) reset(_ *yaml.Node, st *Step) error {
	delete(o.holds, st.connections())
	if st.Manner != "" {
		o.links["reset "+st.Text] = st.Line
	}
	return nil
}

func (r *Runner) reset(ctx context.Context, st Step) (string, error) {
	request := FaultRequest{Kind: "reset", Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Manner: st.Manner}
	if err := r.inject(ctx, request, "reset "+st.ways()); err != nil {
		return "", err
	}
	if st.Manner == "" { // it is over as soon as it was done
		if err := r.undo(ctx, "reset "+st.ways()); err != nil {
			return "", err
		}
	}
	if held := "hold " + st.connections(); r.heals[held] != nil {
		return "", r.undo(ctx, held) // nothing waits there any more
	}
	return "", nil
}
