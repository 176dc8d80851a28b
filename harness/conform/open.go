package conform

import "context"

func opens(ctx context.Context, t *checkRun) error {
	_, a, err := t.start(ctx, "c1")
	t.bench.opened = a.line
	if wrong, ok := asProblem(err); ok && len(t.Servers) == 0 {
		return Problem{wrong.What, wrong.Fix + "; or, if it needs servers, give it some with --cluster"}
	}
	return err
}
