package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
	"github.com/picklock/picklock/history"
)

// maxPrograms is how many programs are started at once.
const maxPrograms = 4

func kinds(ctx context.Context, t *checkRun) error {
	holders, mode := 1, ""
	switch t.abilities.Kind {
	case clients.ReadWrite:
		holders, mode = 2, history.Shared
	case clients.Semaphore:
		if holders = t.abilities.Permits; holders > maxPrograms {
			return skip(fmt.Sprintf("it would take %d programs", holders))
		}
	case clients.Reentrant:
		return reenters(ctx, t)
	}
	programs, err := t.openedAll(ctx, holders)
	if err != nil {
		return err
	}
	for i, p := range programs {
		wait := t.TTL / 4 // or the lease of the first would be over
		if i == 0 {
			wait = answerWithin
		}
		if _, err := p.grantedWithin(ctx, t.key("k"), mode, wait); err != nil {
			if wrong, ok := asProblem(err); ok {
				return Problem{fmt.Sprintf("client %d of %d that may hold it at once: %s", i+1, holders, wrong.What), "see what its kind promises, in docs/reference/exec.md"}
			}
			return err
		}
	}
	if t.abilities.Downgrades {
		return downgrades(ctx, t, programs)
	}
	return nil
}

// downgrades has a client share what it has exclusively: another one shares it then, and none has it exclusively.
func downgrades(ctx context.Context, t *checkRun, programs []*program) error {
	const remedy = `downgrade makes a shared grant of an exclusive one, at no moment free to others; or leave "downgrades":true out of the answer to open`
	key := t.key("downgrade")
	if _, err := programs[0].grantedWithin(ctx, key, "", answerWithin); err != nil {
		return err
	}
	began := time.Now() // what is downgraded has a lease of its own
	a, err := programs[0].ask(ctx, lock.Request{Op: "downgrade", Key: key}, answerWithin)
	if err != nil {
		return err
	}
	if !a.ok() {
		return Problem{"it declared that it downgrades, and could not: " + quote(a.line), remedy}
	}
	if _, err := programs[1].grantedWithin(ctx, key, history.Shared, t.TTL/4); err != nil {
		if wrong, ok := asProblem(err); ok {
			return Problem{"after a downgrade another client could not share the lock: " + wrong.What, remedy}
		}
		return err
	}
	if a, err = programs[1].released(ctx, key); err == nil && a.ok() {
		a, err = programs[1].ask(ctx, lock.Request{Op: "acquire", Key: key, Timeout: (t.TTL / 8).Milliseconds()}, t.TTL/8+lock.Grace(t.TTL))
	}
	if err != nil {
		return err
	}
	if a.ok() && time.Since(began) < t.TTL {
		return Problem{"after a downgrade another client was granted the lock exclusively: " + quote(a.line), remedy}
	}
	return nil
}

// reenters has one client acquire a lock twice, and release it as often.
func reenters(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	for _, wait := range []time.Duration{answerWithin, t.TTL / 4} { // before the first lease is over
		_, err := p.grantedWithin(ctx, t.key("k"), "", wait)
		if wrong, ok := asProblem(err); ok && wait != answerWithin {
			return Problem{"it declared to be reentrant; asked again for what it holds, " + wrong.What, "grant it again, and count"}
		}
		if err != nil {
			return err
		}
	}
	for range 2 {
		a, err := p.released(ctx, t.key("k"))
		if err != nil {
			return err
		}
		if !a.ok() {
			return Problem{"it was granted the lock twice and could not release it twice: " + quote(a.line), "count the grants of a key, and let go with the last"}
		}
	}
	return nil
}
