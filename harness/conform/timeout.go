package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
)

func timesOut(ctx context.Context, t *checkRun) error {
	// A busy machine can be late by itself: what is late twice is the program's.
	err := t.waitInVain(ctx, t.key("k1"), t.TTL/4, nil)
	if _, wrong := asProblem(err); wrong {
		err = t.waitInVain(ctx, t.key("k2"), t.TTL/4, nil)
	}
	return err
}

// waitInVain has a program wait for a lock that is held, less long than the lease. While it
// waits, disturb is called with it.
func (t *checkRun) waitInVain(ctx context.Context, key string, wait time.Duration, disturb func(*program) error) error {
	holders := 1
	if t.abilities.Kind == clients.Semaphore {
		holders = t.abilities.Permits
	}
	if holders >= maxPrograms {
		return skip(fmt.Sprintf("it would take %d programs", holders+1))
	}
	programs, err := t.openedAll(ctx, holders+1)
	if err != nil {
		return err
	}
	waiter := programs[holders]
	end := int64(0) // of the first lease; 0 if there is none
	for _, p := range programs[:holders] {
		a, err := p.granted(ctx, key)
		if err != nil {
			return err
		}
		if a.Lease > 0 && end == 0 {
			end = a.sent + a.Lease*int64(time.Millisecond)
		}
	}
	grace := lock.Grace(t.TTL)
	asked := make(chan error, 1)
	if disturb != nil {
		go func() { asked <- disturb(waiter) }()
	} else {
		asked <- nil
	}
	a, err := waiter.ask(ctx, lock.Request{Op: "acquire", Key: key, Timeout: wait.Milliseconds()}, wait+3*grace)
	if err := <-asked; err != nil {
		return err
	}
	const remedy = `give up when timeout_ms is over, on a clock that nobody sets, and answer {"ok":false,"error":"timeout","definite":true}`
	if err != nil {
		select {
		case <-waiter.exited:
			return err
		default:
		}
		return Problem{fmt.Sprintf("it was to wait %v for a lock that is held, and had not answered %v after that", wait, 3*grace), remedy}
	}
	late := time.Duration(a.came-a.sent) - wait
	said := fmt.Sprintf("it was to wait %v for a lock that is held, and answered %v after that: %s", wait, late.Round(time.Millisecond), quote(a.line))
	switch due := a.sent + int64(wait); {
	case late > grace:
		return Problem{said, remedy}
	case a.ok() && (end == 0 || a.came < end):
		return skip("nobody had to wait: a lock that was held already was granted once more. Whether it is safe, picklock hunt says")
	case a.ok() && due > end-int64(t.TTL/4):
		return skip("this machine is too busy: the lease was over before the wait")
	case a.ok():
		return Problem{said, remedy}
	}
	return nil
}
