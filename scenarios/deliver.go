package scenarios

import (
	"context"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// deliverWord lets go what the same words held: "deliver: A to redis"; or the next
// messages only: "deliver: 1 from A to redis".
var deliverWord = stepWord{name: "deliver", fault: "hold", read: (*parser).deliver, after: (*order).deliver, take: (*Runner).deliver}

var deliverForm = pattern(`^(\d+) from (.+) to (.+)$`)

func (p *parser) deliver(n *yaml.Node, st *Step, rest string) (err error) {
	m := deliverForm().FindStringSubmatch(rest)
	if m == nil {
		return p.sides(n, st, rest, "want two sides, as A to redis (all that waits) or 1 from A to redis (the next message)")
	}
	if st.N, err = strconv.Atoi(m[1]); err != nil || st.N < 1 {
		return p.errorf(n, "deliver: %q is no number of messages", m[1])
	}
	if st.Nodes, err = p.targets(n, st.Word, m[2]); err != nil {
		return err
	}
	st.Peers, err = p.targets(n, st.Word, m[3])
	return err
}

func (o *order) deliver(n *yaml.Node, st *Step) error {
	if st.N > 0 {
		return o.held(n, st.Word, st.Nodes, st.Peers)
	}
	if o.holds[st.ways()] == 0 {
		return o.p.errorf(n, "deliver: no hold reads %q: repeat the words of the hold", st.ways())
	}
	delete(o.holds, st.ways())
	return nil
}

func (r *Runner) deliver(ctx context.Context, st Step) (string, error) {
	if st.N == 0 {
		return "", r.undo(ctx, "hold "+st.ways())
	}
	bounded, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	err := r.stage.Deliver(bounded, r.resolve(st.Nodes), r.resolve(st.Peers), st.N)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return "", fmt.Errorf("%d messages did not come within %v: %w", st.N, awaitWithin, err)
	}
	return "", err
}
