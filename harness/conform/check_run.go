package conform

import (
	"cmp"
	"context"
	"fmt"
	"time"

	lock "github.com/picklock/picklock/clients/exec"
)

// answerWithin is how long a request may take that has nothing to wait for.
const answerWithin = 15 * time.Second

// trial is one check's work.
type checkRun struct {
	*bench
	check    string
	programs []*program
}

// end ends all that the check has started.
func (t *checkRun) end() {
	for _, p := range t.programs {
		p.stop()
	}
	t.programs = nil
}

// key is a lock that nobody else uses.
func (t *checkRun) key(name string) string {
	return cmp.Or(t.Mark, "picklock-") + t.check + "-" + name + "-" + t.run
}

// start starts a program and opens its lock.
func (t *checkRun) start(ctx context.Context, client string) (*program, reply, error) {
	p, err := t.bench.start()
	if err != nil {
		return nil, reply{}, err
	}
	t.programs = append(t.programs, p)
	a, err := t.open(ctx, p, client)
	if err != nil {
		return nil, a, err
	}
	if !a.ok() {
		return nil, a, Problem{"it refused open: " + quote([]byte(a.Error)), "see why: nothing can be tried without an open lock"}
	}
	p.members()
	return p, a, nil
}

// open opens a program's lock, as a client of that name.
func (t *checkRun) open(ctx context.Context, p *program, client string) (reply, error) {
	options := t.Extra
	if options == nil {
		options = map[string]string{}
	}
	return p.ask(ctx, lock.Request{Op: "open", Servers: t.Servers, Shared: t.Directory, Client: client, TTL: t.TTL.Milliseconds(), Options: options}, lock.OpenWithin)
}

// opened is start without what was answered.
func (t *checkRun) opened(ctx context.Context, client string) (*program, error) {
	p, _, err := t.start(ctx, client)
	return p, err
}

// openedAll opens programs of that many clients. Who needs several opens them first:
// to start one takes longer than some leases.
func (t *checkRun) openedAll(ctx context.Context, n int) ([]*program, error) {
	var out []*program
	for i := range n {
		p, err := t.opened(ctx, fmt.Sprintf("c%d", i+1))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// granted acquires a lock that is free, or becomes free by itself.
func (p *program) granted(ctx context.Context, key string) (reply, error) {
	return p.grantedWithin(ctx, key, "", 2*p.TTL+answerWithin)
}

func (p *program) grantedWithin(ctx context.Context, key, mode string, wait time.Duration) (reply, error) {
	a, err := p.ask(ctx, lock.Request{Op: "acquire", Key: key, Mode: mode, Timeout: wait.Milliseconds()}, wait+lock.Grace(p.TTL))
	if err == nil && !a.ok() {
		err = Problem{fmt.Sprintf("it refused a lock that it could have: %s", quote(a.line)), "find out why: see its standard error, and whether its servers are those that it was given"}
	}
	return a, err
}

// released releases what it holds.
func (p *program) released(ctx context.Context, key string) (reply, error) {
	return p.ask(ctx, lock.Request{Op: "release", Key: key}, answerWithin)
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
