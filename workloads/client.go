package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// client is one logical process: it takes each step between two events.
type client struct {
	*opened
	cfg           Config
	info          clients.Info
	permits       int64 // of a semaphore
	writesNothing bool  // the workload's critical section does nothing under the lock
	out           *output
	rng           *rand.Rand
	grants        int
	failures      int // of the client's own program, since its last success

	open    func(context.Context, clients.Lock) (*client, error) // another one like this
	closing atomic.Int32                                         // how many locks of before are being closed
	ending  sync.WaitGroup                                       // of that
}

// opened is what a client has open.
type opened struct {
	lock    clients.Lock
	renewer clients.Renewer // nil if the lock has none
	sharer  clients.Sharer  // nil if the lock is none
	holder  clients.Holder  // nil if the lock cannot be asked
	// downgrader is nil if what a client has alone it cannot go on to share.
	downgrader clients.Downgrader
	canceler   clients.Canceler // nil if an acquire cannot be cancelled
	unlocked   clients.Unlocked // instead of a lock
	register   register.Resource
	over       atomic.Bool // nobody hears any more what it tells
}

func (o *opened) close() error {
	if o.unlocked != nil {
		return errors.Join(o.unlocked.Close(), o.register.Close())
	}
	return errors.Join(o.lock.Close(), o.register.Close())
}

// loop runs critical sections until ctx ends.
func (c *client) loop(ctx context.Context, critical CriticalSection) error {
	for ctx.Err() == nil {
		begin := time.Now()
		granted := c.once(ctx, c.cfg.KeyNames[c.rng.IntN(len(c.cfg.KeyNames))], critical)
		if err := c.out.failed(); err != nil {
			return err
		}
		sleep(ctx, c.rest(granted, time.Since(begin)))
	}
	return nil
}

// rest is the pause between two critical sections.
func (c *client) rest(granted bool, took time.Duration) time.Duration {
	switch {
	case c.failures > 0:
		// A program that could not be started will hardly start at once.
		return c.jitter(min(50*time.Millisecond<<min(c.failures, 10), time.Second))
	case !granted:
		// A service that refused at once would refuse again at once.
		return c.jitter(5 * time.Millisecond)
	case c.cfg.Rate > 0:
		return time.Duration(float64(time.Second)/c.cfg.Rate) - took
	}
	// A little time of its own: without it the client that has just released would
	// win nearly every race for the lock.
	return c.jitter(c.cfg.WorkTime)
}

// once runs one critical section; false says that the lock was not granted. Once
// it is held, the critical section goes to its end even when ctx ends, within the
// operations' own time limits.
func (c *client) once(ctx context.Context, key string, critical CriticalSection) bool {
	if c.unlocked != nil {
		return c.alone(ctx, key)
	}
	h, err := c.acquireAs(ctx, key, c.mode())
	if err != nil {
		return false
	}
	part := c.long()
	if part > 1 {
		h.overrun = time.Duration(part * float64(c.cfg.TTL))
	}
	held := context.WithoutCancel(ctx)
	critical(held, h)
	h.linger(ctx, part)
	_ = h.release(held) // the history has it
	return true
}

// acquireAs acquires the lock in a mode of history.Event.
func (c *client) acquireAs(ctx context.Context, key, mode string) (*holding, error) {
	take := c.lock.Acquire
	if mode == history.Shared {
		take = c.sharer.AcquireShared
	}
	return c.acquireWith(ctx, key, mode, take)
}

// errNoToken is the error of a grant without a token by a lock of the user's own that was said to give one with each: the register
// would refuse its writes, which were no bug of the lock. The lock is held all the same.
var errNoToken = fmt.Errorf("%w: the lock was said to give tokens, and this grant has none (set clients.Grant.Token, or use no fencing): %w", clients.ErrProgram, clients.ErrUnknown)

// acquireWith records what take does as an acquire in that mode.
func (c *client) acquireWith(ctx context.Context, key, mode string, take func(context.Context, string) (clients.Grant, error)) (*holding, error) {
	e := history.Event{Type: history.Invoke, F: history.Acquire, Key: key, Mode: mode, Permits: c.permits}
	c.emit(e)
	actx, cancel := context.WithTimeout(ctx, c.cfg.Wait)
	defer cancel()
	sent := history.Now()
	g, err := take(actx, key)
	answered := history.Now()
	if err == nil && g.Token == 0 && c.info.Fencing && c.info.AnyOption && mode == "" {
		err = errNoToken
	}
	if err != nil {
		e.Type, e.Error, e.ClientFailed = outcome(err), err.Error(), errors.Is(err, clients.ErrProgram)
		e.Cancelled = errors.Is(err, clients.ErrCancelled)
		c.emit(e)
		c.broken(e.ClientFailed)
		return nil, err
	}
	c.broken(false)
	c.grants++
	h := &holding{c: c, grant: g, id: fmt.Sprintf("%s.%d", c.cfg.Process, c.grants), lost: make(chan struct{}), granted: c.grantedAt(sent, answered)}
	e.Type, e.Grant, e.Token, e.Since, e.Lease = history.OK, h.id, g.Token, c.since(g.Since), int64(g.Lease)
	e.Expired, e.Watchdog, e.Lingers = g.Expired, c.info.Watchdog && !g.Unrenewed, c.info.Lingers
	e.Notifies = c.info.Notifies && !c.cfg.IgnoreLost // a notice that is not heard is not missing
	c.emit(e)
	h.until.Store(g.Since + int64(g.Lease))
	var wctx context.Context
	wctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.watching.Go(func() { h.watch(wctx) })
	return h, nil
}

// broken counts how often the client's own program has failed without a break.
func (c *client) broken(is bool) {
	if c.failures++; !is {
		c.failures = 0
	}
}

// outcome maps an error to the outcome of the operation.
func outcome(err error) history.Type {
	if errors.Is(err, clients.ErrUnknown) || errors.Is(err, register.ErrUnknown) {
		return history.Info
	}
	return history.Fail
}

func (c *client) since(at int64) int64 {
	if at == 0 {
		return 0
	}
	return at - c.cfg.Start
}

func (c *client) emit(e history.Event) {
	e.Process = c.cfg.Process
	c.out.send(Message{Event: &e})
}

// jitter is 0.5 to 1.5 times d.
func (c *client) jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + time.Duration(c.rng.Int64N(int64(d)))
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
