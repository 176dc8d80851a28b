package conform

import (
	"context"

	lock "github.com/picklock/picklock/clients/exec"
)

func leases(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	a, err := p.granted(ctx, t.key("k"))
	if err != nil {
		return err
	}
	return t.leaseOf(a)
}

// leaseOf compares a grant's lease with what is possible, and with what was declared.
func (t *checkRun) leaseOf(a reply) error {
	only := a.Answer
	only.Since = 0 // the next check's
	declared := t.abilities.Lease
	switch err := lock.LeaseWithin(only, a.sent); {
	case err != nil:
		return Problem{err.Error() + ": " + quote(a.line), "give the lease's length in milliseconds"}
	case declared != nil && *declared && a.Lease == 0:
		return Problem{`it declared leases, and a grant has no "lease_ms": ` + quote(a.line), `give every grant its "lease_ms", or leave "lease":true out of the answer to open`}
	case declared != nil && !*declared && a.Lease > 0:
		return Problem{`it declared "lease":false, and a grant has a "lease_ms": ` + quote(a.line), `leave one of them out`}
	case declared == nil && a.Lease == 0:
		return skip("its grants have no lease, and none is declared")
	}
	return nil
}
