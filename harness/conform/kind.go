package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
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
