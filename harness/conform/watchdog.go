package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	lock "github.com/picklock/picklock/clients/exec"
)

// watchedLeases is for how many leases a lock is held that is renewed by itself.
const watchedLeases = 3

// watches holds a lock for longer than its lease, without a word to its holder, while another
// client waits for it.
func watches(ctx context.Context, t *checkRun) error {
	switch {
	case !t.abilities.Watchdog:
		return skip(`it does not declare "watchdog":true`)
	case t.abilities.Kind == clients.Semaphore:
		return skip("others may hold a semaphore beside it")
	}
	// A busy machine can keep a watchdog from running: what fails twice is the program's.
	err := t.watched(ctx, t.key("k1"))
	if _, wrong := asProblem(err); wrong {
		err = t.watched(ctx, t.key("k2"))
	}
	return err
}

// triedGrants is how many grants are looked at for one that is renewed.
const triedGrants = 3

// renewedGrant is a grant of which the program does not say that nobody renews it.
func (p *program) renewedGrant(ctx context.Context, key string) (reply, error) {
	for range triedGrants {
		a, err := p.granted(ctx, key)
		if err != nil || a.Watchdog == nil || *a.Watchdog {
			return a, err
		}
		if _, err := p.released(ctx, key); err != nil {
			return a, err
		}
	}
	return reply{}, skip(fmt.Sprintf("it says of %d grants in a row that they are not renewed", triedGrants))
}

func (t *checkRun) watched(ctx context.Context, key string) error {
	const remedy = `renew until the release: see that the watchdog runs in its own thread and finds the owner's value there (redis-py: thread_local=False), or leave "watchdog":true out of the answer to open`
	programs, err := t.openedAll(ctx, 2)
	if err != nil {
		return err
	}
	holder, other := programs[0], programs[1]
	a, err := holder.renewedGrant(ctx, key)
	if err != nil {
		return err
	}
	lease := time.Duration(a.Lease) * time.Millisecond
	if lease == 0 {
		return skip("its grants have no lease")
	}
	wait := watchedLeases * lease
	b, err := other.ask(ctx, lock.Request{Op: "acquire", Key: key, Timeout: wait.Milliseconds()}, wait+2*lock.Grace(t.TTL))
	if _, silent := asProblem(err); err != nil && !silent { // who is silent was not granted it
		return err
	}
	if err == nil && b.ok() {
		held := time.Duration(b.came - a.sent).Round(time.Millisecond)
		return Problem{fmt.Sprintf("it renews by itself, as it declared, and another client was granted what it held %v after it had asked for it, with a lease of %v: %s", held, lease, quote(b.line)), remedy}
	}
	if a, err = holder.released(ctx, key); err != nil {
		return err
	}
	if !a.ok() {
		return Problem{fmt.Sprintf("it renews by itself, as it declared, and did not hold the lock any more %v after it was granted it: %s", wait, quote(a.line)), remedy}
	}
	return nil
}
