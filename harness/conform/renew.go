package conform

import (
	"context"

	lock "github.com/picklock/picklock/clients/exec"
)

func renews(ctx context.Context, t *checkRun) error {
	if !t.abilities.Renew {
		return skip(`it does not declare "renew":true`)
	}
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	if _, err := p.granted(ctx, t.key("k")); err != nil {
		return err
	}
	a, err := p.ask(ctx, lock.Request{Op: "renew", Key: t.key("k")}, answerWithin)
	switch {
	case err != nil:
		return err
	case !a.ok():
		return Problem{"it could not renew what it had just been granted: " + quote(a.line), `answer renew, or leave "renew":true out of the answer to open`}
	case a.Lease <= 0:
		return Problem{`a renew that succeeded has no "lease_ms": ` + quote(a.line), "give the length of the lease that begins with it"}
	case a.Since == 0:
		return Problem{`a renew that succeeded has no "since_ns": ` + quote(a.line), monotonic}
	}
	err = t.sinceOf(a)
	if wrong, ok := asProblem(err); ok {
		return Problem{"of a renew: " + wrong.What, wrong.Fix}
	}
	return err
}
