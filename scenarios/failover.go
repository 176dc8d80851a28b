package scenarios

import "context"

// failoverWord makes another server take over from one: "failover: redis1".
var failoverWord = stepWord{name: "failover", fault: "failover", read: (*parser).server, take: (*Runner).failover}

func (r *Runner) failover(ctx context.Context, st Step) (string, error) {
	return "", r.each(st.Nodes, func(node string) error {
		if err := r.inject(ctx, FaultRequest{Kind: "failover", Nodes: []string{node}}, "failover "+node); err != nil {
			return err
		}
		return r.undo(ctx, "failover "+node) // done, it is over: nothing of it is undone later
	})
}
