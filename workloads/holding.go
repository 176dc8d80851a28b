package workloads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// holding is one grant while its client believes that it holds the lock.
type holding struct {
	c     *client
	grant clients.Grant
	id    string
	// granted is when the hold began, as far as the client knows (history.Now).
	granted int64

	stop     context.CancelFunc
	watching sync.WaitGroup
	lost     chan struct{} // closed when the client has learnt that the grant is gone
	looking  sync.Mutex    // held while the client ignores what the library reports
	until    atomic.Int64  // end of the lease as the client knows it (history.Now)
	writes   int
	released bool          // its release was asked for
	overrun  time.Duration // how long a critical section lasts that is longer than its lease
}

// event is an event of this grant.
func (h *holding) event(t history.Type, f string) history.Event {
	return history.Event{Type: t, F: f, Key: h.grant.Key, Grant: h.id, Token: h.grant.Token}
}

// fail is the completion of an operation that returned err.
func (h *holding) fail(f string, err error) {
	e := h.event(outcome(err), f)
	e.Error, e.ClientFailed = err.Error(), errors.Is(err, clients.ErrProgram)
	e.NotHeld = e.Type == history.Fail && errors.Is(err, clients.ErrNotHeld)
	h.c.emit(e)
}

// hold works for about the configured time; false says that the client learnt of
// the grant's loss and has to give up.
func (h *holding) hold(ctx context.Context) bool {
	d := max(h.c.jitter(h.c.cfg.WorkTime), h.overrun)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.lost:
	case <-ctx.Done():
	}
	select {
	case <-h.lost:
		return false
	default:
		return ctx.Err() == nil
	}
}

// expired compares the clock with the end of the lease as the client knows it: the mitigation of
// --check-lease. A grant without a lease never expires for the client.
func (h *holding) expired() bool {
	return h.grant.Lease > 0 && history.Now() >= h.until.Load()
}

func (h *holding) read(ctx context.Context) (string, error) {
	h.c.emit(h.event(history.Invoke, history.Read))
	reply, err := h.do(ctx, register.Request{F: history.Read})
	if err != nil {
		h.fail(history.Read, err)
		return "", err
	}
	e := h.event(history.OK, history.Read)
	e.Value = reply.Value
	h.c.emit(e)
	return reply.Value, nil
}

// write writes a value that no other write of the run has; parent is the value
// that the client had read.
func (h *holding) write(ctx context.Context, f, parent string) error {
	h.writes++
	e := h.event(history.Invoke, f)
	e.Value = fmt.Sprintf("%s.%d", h.id, h.writes)
	h.c.emit(e)
	r := register.Request{F: f, Value: e.Value}
	if f == history.Add {
		r.Parent = parent
	}
	_, err := h.do(ctx, r)
	if err != nil {
		e.Type, e.Error = outcome(err), err.Error()
	} else {
		e.Type = history.OK
	}
	h.c.emit(e)
	return err
}

func (h *holding) do(ctx context.Context, r register.Request) (register.Reply, error) {
	r.Process, r.Key, r.Grant, r.Token = h.c.cfg.Process, h.grant.Key, h.id, h.grant.Token
	ctx, cancel := context.WithTimeout(ctx, h.c.cfg.Timeout)
	defer cancel()
	return h.c.register.Do(ctx, r)
}

// unwatch ends watch, and waits for that.
func (h *holding) unwatch() {
	h.stop()
	h.watching.Wait()
}

func (h *holding) release(ctx context.Context) error {
	h.unwatch()
	again := h.released
	h.released = true
	h.c.emit(h.event(history.Invoke, history.Release))
	ctx, cancel := context.WithTimeout(ctx, h.c.cfg.Timeout)
	defer cancel()
	if err := h.c.lock.Release(ctx, h.grant); err != nil {
		h.fail(history.Release, err)
		return err
	}
	e := h.event(history.OK, history.Release)
	e.Held = h.c.info.Confirms && !again // that nothing is left to release is no word on the grant
	h.c.emit(e)
	return nil
}

// programEnded is why a client gives a grant up whose program has ended.
const programEnded = "the program that held the lock ended"

// watch records what the client learns about its grant while it holds it, and
// renews it if that is asked for.
func (h *holding) watch(ctx context.Context) {
	var tick <-chan time.Time
	if h.c.cfg.Renew {
		t := time.NewTicker(h.c.cfg.TTL / 3)
		defer t.Stop()
		tick = t.C
	}
	renewals, lost := h.grant.Renewals, h.grant.Lost
	if h.c.cfg.IgnoreLost {
		lost = nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-lost:
			h.lose("the client library says so", true)
			return
		case <-h.grant.Ended:
			h.lose(programEnded, false)
			return
		case r, ok := <-renewals:
			if !ok {
				renewals = nil
				continue
			}
			h.renewed(r, false)
		case <-tick:
			if !h.renew(ctx) {
				return
			}
		}
	}
}

// renew renews once; false says that the grant is lost.
func (h *holding) renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, h.c.cfg.TTL/3)
	defer cancel()
	if err := h.renewOnce(ctx); errors.Is(err, clients.ErrNotHeld) {
		h.lose(err.Error(), false) // the renewal has reported it
		return false
	}
	return true
}

func (h *holding) renewOnce(ctx context.Context) error {
	h.c.emit(h.event(history.Invoke, history.Renew))
	r, err := h.c.renewer.Renew(ctx, h.grant)
	if err != nil {
		h.fail(history.Renew, err)
		return err
	}
	h.renewed(r, h.c.info.Confirms)
	return nil
}

// holds asks the lock whether the client holds it.
func (h *holding) holds(ctx context.Context) error {
	h.c.emit(h.event(history.Invoke, history.Holds))
	is, err := h.c.holder.Holds(ctx, h.grant)
	if err != nil {
		h.fail(history.Holds, err)
		return err
	}
	e := h.event(history.OK, history.Holds)
	e.Held, e.NotHeld = is, !is
	h.c.emit(e)
	if !is {
		return fmt.Errorf("the lock says so: %w", clients.ErrNotHeld)
	}
	return nil
}

func (h *holding) renewed(r clients.Renewal, held bool) {
	e := h.event(history.OK, history.Renew)
	e.Since, e.Lease, e.Held = h.c.since(r.Since), int64(r.Lease), held
	h.c.emit(e)
	h.until.Store(max(h.until.Load(), r.Since+int64(r.Lease)))
}

// lose records that the client has learnt of the grant's loss; noticed: by a notice of its library.
func (h *holding) lose(why string, noticed bool) {
	h.looking.Lock()
	defer h.looking.Unlock()
	e := h.event(history.Info, history.Lost)
	e.Error, e.NotHeld = why, noticed
	h.c.emit(e)
	close(h.lost)
}
