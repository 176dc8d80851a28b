package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// turn is one turn of a client that shares the register without a lock. Its
// operations carry no grant: there is none.
type turn struct {
	*client
	key string
	run context.Context // its end is the run's
}

// alone makes one turn; false says that it failed.
func (c *client) alone(ctx context.Context, key string) bool {
	// As with a lock: a turn goes to its end within the time limits.
	held, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Wait)
	defer cancel()
	return c.unlocked.Update(held, turn{c, key, ctx}) == nil // the history has the rest
}

// Key implements clients.Turn.
func (t turn) Key() string { return t.key }

// Read implements clients.Turn.
func (t turn) Read(ctx context.Context) (clients.Seen, error) {
	e := history.Event{Type: history.Invoke, F: history.Read, Key: t.key}
	t.emit(e)
	reply, err := t.ask(ctx, register.Request{F: history.Read})
	if err != nil {
		e.Type, e.Error = outcome(err), err.Error()
		t.emit(e)
		return clients.Seen{}, err
	}
	e.Type, e.Value = history.OK, reply.Value
	t.emit(e)
	return clients.Seen{Value: reply.Value, Version: reply.Version}, nil
}

// Over implements clients.Turn.
func (t turn) Over() bool { return t.run.Err() != nil }

// Work implements clients.Turn.
func (t turn) Work(ctx context.Context) bool { return sleep(ctx, t.jitter(t.cfg.WorkTime)) }

// Add implements clients.Turn.
func (t turn) Add(ctx context.Context, do func(element string) error) error {
	t.grants++
	e := history.Event{Type: history.Invoke, F: history.Add, Key: t.key, Value: fmt.Sprintf("%s.%d", t.cfg.Process, t.grants)}
	t.emit(e)
	err := do(e.Value)
	if e.Type = history.OK; err != nil {
		e.Type, e.Error = outcome(err), err.Error()
	}
	t.emit(e)
	return err
}

// Send implements clients.Turn.
func (t turn) Send(ctx context.Context, c clients.Change) error {
	_, err := t.ask(ctx, register.Request{
		F: history.Add, Process: c.Process, Value: c.Element, Parent: c.Parent,
		Unlocked: register.Unlocked{If: c.Version, Merge: c.Merge, Once: c.Once},
	})
	switch {
	case errors.Is(err, register.ErrUnknown):
		return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	case errors.Is(err, register.ErrRefused):
		return fmt.Errorf("%w: %w", clients.ErrOutdated, err)
	}
	return err
}

func (t turn) ask(ctx context.Context, r register.Request) (register.Reply, error) {
	if r.Process == "" {
		r.Process = t.cfg.Process
	}
	r.Key = t.key
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	return t.register.Do(ctx, r)
}

func openUnlocked(ctx context.Context, cfg Config, info clients.Info, options clients.Options, o *output) (*client, error) {
	if cfg.Renew || cfg.Scripted {
		return nil, fmt.Errorf("%s is no lock: it has no lease to renew and nothing to acquire", info.Name)
	}
	u, err := info.Unlocked(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", info.Name, err)
	}
	c := &client{
		opened: &opened{unlocked: u, register: register.New(cfg.RegisterAddr)}, cfg: cfg, info: info, out: o,
		rng: rand.New(rand.NewPCG(cfg.Seed, uint64(cfg.Grants))), grants: cfg.Grants,
	}
	return c, nil
}
