package conform

import "context"

func releases(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	for range 2 { // what was released can be had again
		if _, err := p.granted(ctx, t.key("k")); err != nil {
			return err
		}
		a, err := p.released(ctx, t.key("k"))
		if err != nil {
			return err
		}
		if !a.ok() {
			return Problem{"it could not release what it had just been granted: " + quote(a.line), "keep what the release needs from the acquire, by its key"}
		}
	}
	return nil
}
