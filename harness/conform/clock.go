package conform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/picklock/picklock/nemesis/clock"
)

// clockJump is farther than any client waits.
const clockJump = time.Hour

func wallClock(ctx context.Context, t *checkRun) error {
	if err := clock.Supported(); err != nil {
		return skip(err.Error())
	}
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	for i, to := range []time.Duration{clockJump, -clockJump} {
		if err := p.setClock(ctx, to); err != nil {
			return err
		}
		a, err := p.granted(ctx, t.key(fmt.Sprint(i)))
		if err != nil {
			return err
		}
		err = t.sinceOf(a)
		if wrong, ok := asProblem(err); ok {
			return Problem{fmt.Sprintf("its wall clock was set by %v, and since_ns went with it: %s", to, wrong.What), monotonic}
		}
		if err != nil {
			return err
		}
	}
	if t.came["time-out"] != OK {
		return nil
	}
	err = t.waitInVain(ctx, t.key("k"), t.TTL/2, func(p *program) error {
		if err := sleep(ctx, t.TTL/8); err != nil {
			return err
		}
		return p.setClock(ctx, -clockJump)
	})
	if wrong, ok := asProblem(err); ok {
		return Problem{fmt.Sprintf("its wall clock was set by %v while it waited: %s", -clockJump, wrong.What), wrong.Fix}
	}
	var why skip
	if errors.As(err, &why) {
		return nil // the leases were right
	}
	return err
}

// setClock sets the wall clock of all of the program's processes.
func (p *program) setClock(ctx context.Context, to time.Duration) error {
	for _, m := range p.members() {
		if _, err := clock.Set(ctx, m.PID, clock.Setting{Offset: to}, 0); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return skip(err.Error())
		}
	}
	return nil
}
