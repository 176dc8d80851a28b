package conform

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
)

// reopens opens a program once more that holds a lock: it grants locks as before, and what it held becomes free.
func reopens(ctx context.Context, t *checkRun) error {
	if !t.abilities.Reopens {
		return skip(`it does not declare "reopens":true, with which a hunt starts no new process after a fault on its client`)
	}
	const remedy = `at an open that is not the first, drop all that was opened before, its watchdogs too, and open anew; or leave "reopens":true out of the answer to open`
	programs, err := t.openedAll(ctx, 3)
	if err != nil {
		return err
	}
	p, other, third := programs[0], programs[1], programs[2]
	held, err := p.granted(ctx, t.key("k1"))
	if err != nil {
		return err
	}
	a, err := t.open(ctx, p, "c1")
	if err != nil {
		return err
	}
	if !a.ok() {
		return Problem{"it refused to be opened once more, as it declared that it can be: " + quote(a.line), remedy}
	}
	now, err := lock.Declared(a.line)
	if err == nil {
		now, err = now.With(t.Abilities)
	}
	if err == nil {
		err = now.Check()
	}
	if err != nil || !slices.Equal(now.Words(), t.abilities.Words()) {
		return Problem{fmt.Sprintf("opened once more, it declares something else: %s", quote(a.line)), remedy}
	}
	if _, err := p.granted(ctx, t.key("k2")); err != nil {
		return err
	}
	if a, err = p.released(ctx, t.key("k2")); err != nil {
		return err
	}
	if !a.ok() {
		return Problem{"opened once more, it could not release what it had just been granted: " + quote(a.line), remedy}
	}
	if t.abilities.Kind == clients.Semaphore {
		return nil // others may hold one beside it
	}
	wait := watchedLeases*max(t.TTL, time.Duration(held.Lease)*time.Millisecond) + time.Second
	b, err := other.ask(ctx, lock.Request{Op: "acquire", Key: t.key("k1"), Timeout: wait.Milliseconds()}, wait+2*lock.Grace(t.TTL))
	if _, silent := asProblem(err); err != nil && !silent {
		return err
	}
	if err == nil && b.ok() {
		return nil
	}
	if a, err := third.ask(ctx, lock.Request{Op: "acquire", Key: t.key("k1"), Timeout: t.TTL.Milliseconds()}, answerWithin); err == nil && a.ok() {
		return Problem{fmt.Sprintf("opened once more, it dropped what it had held before, and a client that had waited for that for %v was not granted it; one that asked after that was", wait),
			"have clients that wait look again when a lease can have ended: no message may come of that"}
	}
	answered := "was not answered"
	if err == nil {
		answered = "got " + quote(b.line)
	}
	return Problem{fmt.Sprintf("opened once more, it kept what it had held before: a client that asked for that for %v %s", wait, answered), remedy}
}
