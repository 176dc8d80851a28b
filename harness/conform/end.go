package conform

import (
	"context"
	"fmt"
	"time"

	lock "github.com/picklock/picklock/clients/exec"
	"github.com/picklock/picklock/internal/lines"
)

// endWithin is how long a program may take to end here. A client waits a second; a busy
// machine is given more.
const endWithin = 5 * time.Second

func closes(ctx context.Context, t *checkRun) error {
	for _, holds := range []bool{false, true} {
		p, err := t.opened(ctx, "c1")
		if err != nil {
			return err
		}
		what := ""
		if holds && t.came["acquire"] != OK {
			break
		} else if holds {
			what = ", holding a lock"
			if _, err := p.granted(ctx, t.key("k")); err != nil {
				return err
			}
		}
		if err := p.close(ctx); err != nil {
			return err
		}
		if ended, err := p.endsWithin(ctx, endWithin); err != nil {
			return err
		} else if !ended {
			return Problem{fmt.Sprintf("it was asked to close%s, and had not ended %v later", what, endWithin), "end at close, at once: wait neither for the service nor for threads. A client kills it after a second"}
		}
	}
	return nil
}

// close asks the program to end, as a client does: an answer is a courtesy.
func (p *program) close(ctx context.Context) error {
	p.mu.Lock()
	p.last++
	q := &request{Request: lock.Request{ID: p.last, Op: "close"}, answer: make(chan reply, 1)}
	p.open[q.ID] = q
	p.mu.Unlock()
	p.members()
	p.in.SetWriteDeadline(time.Now().Add(endWithin))
	_ = lines.Write(p.in, q.Request) // if it does not get the message, it has ended or will not end
	select {
	case <-q.answer:
	case <-p.exited:
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	p.in.Close()
	return nil
}

// endsWithin says whether the program's own process has ended by then.
func (p *program) endsWithin(ctx context.Context, within time.Duration) (bool, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func endsWithInput(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	p.in.Close()
	if ended, err := p.endsWithin(ctx, endWithin); err != nil || ended {
		return err
	}
	return Problem{fmt.Sprintf("its standard input ended, and it lived on for %v", endWithin), "end when standard input does: the client is gone then"}
}
