package conform

import "context"

const severalRemedy = `keep what belongs to a grant by its key; or leave "several":true out of the answer to open`

// severalKeys has a program hold two keys at once, and gives back the first one, and then the other. Whether the lock keeps the other one meanwhile
// is what a hunt tries.
func severalKeys(ctx context.Context, t *checkRun) error {
	if !t.abilities.Several {
		return skip(`it does not declare "several":true, with which a hunt has a client hold two keys at once`)
	}
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	keys := []string{t.key("k1"), t.key("k2")}
	for i, key := range keys {
		if _, err := p.granted(ctx, key); err != nil {
			if wrong, ok := asProblem(err); ok && i > 0 {
				return Problem{"it holds one key, and did not acquire another one that is free: " + wrong.What, severalRemedy}
			}
			return err
		}
	}
	for i, key := range keys {
		a, err := p.released(ctx, key)
		if err != nil {
			return err
		}
		if !a.ok() {
			return Problem{[]string{"it held two keys, and did not release the first: ", "it held two keys and released the first, and did not release the other: "}[i] + quote(a.line), severalRemedy}
		}
	}
	return nil
}
