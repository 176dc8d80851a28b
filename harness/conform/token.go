package conform

import (
	"context"
	"fmt"
)

func tokens(ctx context.Context, t *checkRun) error {
	var last int64
	for _, client := range []string{"c1", "c2"} {
		p, err := t.opened(ctx, client)
		if err != nil {
			return err
		}
		for range 2 {
			a, err := p.granted(ctx, t.key("k"))
			if err != nil {
				return err
			}
			switch {
			case a.Token < 0:
				return Problem{"a token is negative: " + quote(a.line), "give a number that rises with every grant, from 1"}
			case t.abilities.Tokens && a.Token == 0:
				return Problem{`it declared tokens, and a grant has no "token": ` + quote(a.line), `give every grant a "token", or leave "tokens":true out of the answer to open`}
			case a.Token > 0 && a.Token <= last:
				return Problem{fmt.Sprintf("token %d was given after %d", a.Token, last), "give later grants of a key greater tokens, whichever client they are for: let the service count"}
			}
			last = a.Token
			if _, err := p.released(ctx, t.key("k")); err != nil {
				return err
			}
		}
	}
	if last == 0 {
		return skip("its grants have no tokens, and none are declared")
	}
	return nil
}
