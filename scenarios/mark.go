package scenarios

import "context"

// markWord says how far back a later power loss may go: "mark: redis". It waits until the
// server has synced what it has written; where nobody knows that, what it has written is
// noted.
var markWord = stepWord{name: "mark", read: (*parser).server, take: (*Runner).mark}

func (r *Runner) mark(ctx context.Context, st Step) (string, error) {
	return "", r.stage.Mark(ctx, st.Nodes[0])
}
