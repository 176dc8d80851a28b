package conform

import "context"

func acquires(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	_, err = p.granted(ctx, t.key("k"))
	return err
}
