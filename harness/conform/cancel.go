package conform

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
)

const cancelRemedy = `when cancel_ms is over, end the call as the user of your library does, by an interrupt or the end of its task or context, and answer {"ok":false,"error":"cancelled","definite":true}; or leave "cancels":true out of the answer to open`

func cancels(ctx context.Context, t *checkRun) error {
	if !t.abilities.Cancels {
		return skip(`it does not declare "cancels":true, with which a hunt cancels acquires`)
	}
	// A busy machine can be late by itself: what is late twice is the program's.
	err := t.cancelled(ctx, t.key("k1"))
	if _, wrong := asProblem(err); wrong {
		err = t.cancelled(ctx, t.key("k2"))
	}
	return err
}

// cancelled has a program wait for a lock that is held, and cancels that long before its time-out. It keeps nothing by that: when the lock is
// released, another client is granted it.
func (t *checkRun) cancelled(ctx context.Context, key string) error {
	holders := max(1, t.abilities.Permits)
	if holders+2 > maxPrograms {
		return skip(fmt.Sprintf("it would take %d programs", holders+2))
	}
	programs, err := t.openedAll(ctx, holders+2)
	if err != nil {
		return err
	}
	waiter, next := programs[holders], programs[holders+1]
	end := int64(math.MaxInt64) // of the first lease
	for _, p := range programs[:holders] {
		a, err := p.granted(ctx, key)
		if err != nil {
			return err
		}
		if a.Lease > 0 && end == math.MaxInt64 {
			end = a.sent + a.Lease*int64(time.Millisecond)
		}
	}
	wait, grace := t.TTL/4, lock.Grace(t.TTL)
	a, err := waiter.ask(ctx, lock.Request{Op: "acquire", Key: key, Timeout: answerWithin.Milliseconds(), Cancel: wait.Milliseconds()}, wait+3*grace)
	if err != nil {
		select {
		case <-waiter.exited:
			return err
		default:
		}
		return Problem{fmt.Sprintf("it waited for a lock that is held, was cancelled after %v, and had not answered %v after that", wait, 3*grace), cancelRemedy}
	}
	switch late := time.Duration(a.came-a.sent) - wait; {
	case a.ok() && a.came < end:
		return skip("nobody had to wait: a lock that was held already was granted once more. Whether it is safe, picklock hunt says")
	case a.ok() && a.sent+int64(wait) > end-int64(t.TTL/4):
		return skip("this machine is too busy: the lease was over before the cancellation")
	case a.Error != clients.ErrCancelled.Error() || !a.Definite || late > grace:
		return Problem{fmt.Sprintf("it waited for a lock that is held, was cancelled after %v, and answered %v after that: %s", wait, late.Round(time.Millisecond), quote(a.line)), cancelRemedy}
	}
	if _, err := programs[0].released(ctx, key); err != nil {
		return err
	}
	_, err = next.grantedWithin(ctx, key, "", 3*t.TTL+time.Second) // whatever was left has no more than a lease
	if wrong, ok := asProblem(err); ok {
		return Problem{"it was cancelled while it waited, and after the holder's release another client could not have the lock: " + wrong.What,
			"leave nothing behind in the service for a client that waits no more"}
	}
	return err
}
