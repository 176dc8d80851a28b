package conform

import (
	"context"

	lock "github.com/picklock/picklock/clients/exec"
)

const monotonic = "read CLOCK_MONOTONIC in nanoseconds right before the request that is granted: time.monotonic_ns() in Python, System.nanoTime() in Java, process.hrtime.bigint() in Node"

func since(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	a, err := p.granted(ctx, t.key("k"))
	if err != nil {
		return err
	}
	return t.sinceOf(a)
}

// sinceOf says what is wrong with when a lease began.
func (t *checkRun) sinceOf(a reply) error {
	switch {
	case a.Lease == 0:
		return skip("its grants have no lease")
	case a.Since == 0:
		return Problem{`a lease is promised without "since_ns", so that one that was waited for proves nothing: ` + quote(a.line), monotonic}
	}
	if err := lock.SinceWithin(a.Answer, a.sent, a.came); err != nil {
		return Problem{err.Error(), monotonic}
	}
	return nil
}
