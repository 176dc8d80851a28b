package scenarios

import (
	"context"

	"go.yaml.in/yaml/v3"
)

// pauseWord stops processes: "pause: A", "pause: redis1, redis2".
var pauseWord = stepWord{name: "pause", fault: "pause", read: (*parser).nodes, after: (*order).pause, take: (*Runner).pause}

// resumeWord lets stopped processes go on: "resume: A".
var resumeWord = stepWord{name: "resume", read: (*parser).nodes, after: (*order).resume, take: (*Runner).resume}

func (o *order) pause(n *yaml.Node, st *Step) error {
	for _, node := range st.Nodes {
		if err := o.isUp(n, st, node); err != nil {
			return err
		}
		if line := o.broken["pause "+node]; line != 0 {
			return o.p.errorf(n, "pause: %s is paused since line %d: resume it first", node, line)
		}
		o.broken["pause "+node] = st.Line
	}
	return nil
}

func (o *order) resume(n *yaml.Node, st *Step) error { return o.undo(n, st, "pause") }

func (r *Runner) pause(ctx context.Context, st Step) (string, error) {
	return "", r.each(st.Nodes, func(node string) error {
		return r.inject(ctx, FaultRequest{Kind: "pause", Nodes: []string{node}}, "pause "+node)
	})
}

func (r *Runner) resume(ctx context.Context, st Step) (string, error) {
	return "", r.each(st.Nodes, func(node string) error { return r.undo(ctx, "pause "+node) })
}
