package conform

import (
	"context"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
)

func confirms(ctx context.Context, t *checkRun) error {
	switch {
	case !t.abilities.Confirms:
		return skip(`it does not declare "confirms":true`)
	case t.abilities.Kind == clients.Semaphore:
		return skip("others may hold a semaphore beside it")
	}
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	next, err := t.opened(ctx, "c2")
	if err != nil {
		return err
	}
	a, err := p.granted(ctx, t.key("k"))
	if err != nil {
		return err
	}
	wait := 2*max(t.TTL, time.Duration(a.Lease)*time.Millisecond) + time.Second
	b, err := next.ask(ctx, lock.Request{Op: "acquire", Key: t.key("k"), Timeout: wait.Milliseconds()}, wait+2*lock.Grace(t.TTL))
	if _, silent := asProblem(err); silent || err == nil && !b.ok() {
		return skip(notGranted)
	}
	if err != nil {
		return err
	}
	if t.abilities.Renew {
		a, err := p.ask(ctx, lock.Request{Op: "renew", Key: t.key("k")}, answerWithin)
		if err != nil {
			return err
		}
		if a.ok() {
			return Problem{"it renewed a lock that another client had been granted since: " + quote(a.line), notHeld}
		}
	}
	if a, err = p.released(ctx, t.key("k")); err != nil {
		return err
	}
	if a.ok() {
		return Problem{"it released a lock that another client had been granted since, and said ok: " + quote(a.line), notHeld}
	}
	return nil
}

const notHeld = `have the service compare the owner and answer {"ok":false,"error":"not held","definite":true}, or leave "confirms":true out of the answer to open`
