package conform

import (
	"context"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
)

func holds(ctx context.Context, t *checkRun) error {
	if !t.abilities.Holds {
		return skip(`it does not declare "holds":true`)
	}
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	a, err := p.granted(ctx, t.key("k"))
	if err != nil {
		return err
	}
	held, line, err := p.holding(ctx, t.key("k"))
	switch {
	case err != nil:
		return err
	case !held:
		return Problem{"it did not say that it holds what it had just been granted: " + quote(line), saysHeld}
	case t.abilities.Kind == clients.Semaphore:
		return skip("others may hold a semaphore beside it")
	}
	next, err := t.opened(ctx, "c2")
	if err != nil {
		return err
	}
	wait := 2*max(t.TTL, time.Duration(a.Lease)*time.Millisecond) + time.Second
	b, err := next.ask(ctx, lock.Request{Op: "acquire", Key: t.key("k"), Timeout: wait.Milliseconds()}, wait+2*lock.Grace(t.TTL))
	if _, silent := asProblem(err); silent || err == nil && !b.ok() {
		return partly("it says that it holds what it has; " + notGranted + ", so what it says then was not tried")
	}
	if err != nil {
		return err
	}
	if held, line, err = p.holding(ctx, t.key("k")); err == nil && held {
		return Problem{"it says that it holds a lock that another client had been granted since: " + quote(line), saysHeld}
	}
	return err
}

// notGranted is why a check cannot be tried of what a client has lost. The lock may have no lease, be renewed by itself, or not have woken the other client.
const notGranted = "this needs another client that is granted the lock meanwhile, and none was"

// holding asks whether the program holds a key.
func (p *program) holding(ctx context.Context, key string) (held bool, line []byte, err error) {
	a, err := p.ask(ctx, lock.Request{Op: "holds", Key: key}, answerWithin)
	switch {
	case err != nil:
		return false, nil, err
	case a.ok() && a.Held == nil:
		return false, a.line, Problem{`an answer to holds has no "held": ` + quote(a.line), saysHeld}
	}
	return a.ok() && *a.Held, a.line, nil
}

const saysHeld = `answer holds as the library answers its user: {"ok":true,"held":true} or {"ok":true,"held":false}; or leave "holds":true out of the answer to open`
