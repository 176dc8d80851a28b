package scenarios

import (
	"context"

	"go.yaml.in/yaml/v3"
)

// markWord notes what a server has written, for a later power loss: "mark: redis".
var markWord = stepWord{name: "mark", read: (*parser).server, after: (*order).mark, take: (*Runner).mark}

func (o *order) mark(_ *yaml.Node, st *Step) error {
	o.marked[st.Nodes[0]] = true
	return nil
}

func (r *Runner) mark(ctx context.Context, st Step) (string, error) {
	return "", r.stage.Mark(ctx, st.Nodes[0])
}
