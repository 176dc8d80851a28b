package workloads

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
)

// Tables are where a worker finds the lock and the protected resource of its Config.
type Tables struct {
	Locks    *clients.Table
	Backends register.Backends
}

// Worker runs one client: it reads its Config from in, opens the lock, waits for
// CommandGo and runs the workload until the end of in or of ctx; or gets its acts one at a time
// (see scripted). An error before the first critical section is both reported to the harness and
// returned.
func Worker(ctx context.Context, t Tables, in io.Reader, out io.Writer, log *slog.Logger) (err error) {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the worker's configuration: %w", err)
	}
	var cfg Config
	if err := json.Unmarshal(first, &cfg); err != nil {
		return fmt.Errorf("read the worker's configuration: %w", err)
	}
	o := &output{start: cfg.Start, w: out}
	c, declared, err := t.open(ctx, cfg, nil, o, log)
	if err != nil {
		o.send(Message{Error: err.Error()})
		return err
	}
	defer func() {
		err = errors.Join(err, c.close())
		c.ending.Wait()
	}()
	o.send(Message{Ready: true, Abilities: declared})
	line, err := lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil
	}
	var cmd Command
	if err := json.Unmarshal(line, &cmd); err != nil {
		return fmt.Errorf("read command %q: %w", line, err)
	}
	if cfg.Scripted {
		return c.scripted(ctx, cmd, lines)
	}
	if cmd.Do != CommandGo {
		return fmt.Errorf("unknown command %q", cmd.Do)
	}
	section, err := Lookup(cmp.Or(cfg.Workload, cmd.Workload))
	if err != nil {
		return err
	}
	c.writesNothing = section.WritesNothing
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		// The harness closes the input to stop the worker; reading ends with the process.
		_, _ = io.Copy(io.Discard, lines)
		stop()
	}()
	return c.loop(ctx, section.Run)
}

// open opens the lock and the register. What the lock declares is nil if it was known before.
// former is the lock that the client had before; nil if there is none.
func (t Tables) open(ctx context.Context, cfg Config, former clients.Lock, o *output, log *slog.Logger) (*client, *clients.Abilities, error) {
	if cfg.Workload != "" {
		if _, err := Lookup(cfg.Workload); err != nil {
			return nil, nil, err
		}
	}
	info, err := t.Locks.Lookup(cfg.Lock)
	if err != nil {
		return nil, nil, err
	}
	if len(cfg.KeyNames) == 0 {
		return nil, nil, errors.New("no keys to lock")
	}
	octx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	options := clients.Options{
		Servers: cfg.Servers, External: cfg.External, Client: cfg.Process, TTL: cfg.TTL, Directory: cfg.Directory, Folder: cfg.Folder, Extra: cfg.Extra, Abilities: cfg.Abilities, Log: log,
		Warn: func(text string) { o.send(Message{Warning: text}) },
	}
	now := &opened{}
	if cfg.Scripted {
		tell := func(m Message) func() {
			return func() {
				if !now.over.Load() {
					o.send(m)
				}
			}
		}
		options.Waiting, options.Woken = tell(Message{Waiting: true}), tell(Message{Woken: true})
	}
	if info.Unlocked != nil {
		c, err := openUnlocked(octx, cfg, info, options, o)
		return c, nil, err
	}
	lock, err := openLock(octx, info, options, former, cfg.Again)
	if err != nil {
		return nil, nil, fmt.Errorf("open lock %s: %w", info.Name, err)
	}
	resource, err := t.openRegister(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	now.lock, now.register = lock, resource
	now.renewer, _ = lock.(clients.Renewer)
	now.sharer, _ = lock.(clients.Sharer)
	now.holder, _ = lock.(clients.Holder)
	if cfg.Renew && now.renewer == nil && !info.Declares {
		err := fmt.Errorf("lock %s has no lease that its user renews: leave out --renew", info.Name)
		return nil, nil, errors.Join(err, lock.Close())
	}
	var declared *clients.Abilities
	if d, ok := lock.(clients.Declarer); ok {
		a := d.Abilities()
		declared, info = &a, info.With(a)
	}
	if info.Downgrades {
		now.downgrader, _ = lock.(clients.Downgrader)
	}
	if info.Cancels {
		now.canceler, _ = lock.(clients.Canceler)
	}
	return &client{
		opened: now, cfg: cfg, info: info, out: o, permits: int64(info.Permits(cfg.Extra)),
		rng: rand.New(rand.NewPCG(cfg.Seed, uint64(cfg.Grants))), grants: cfg.Grants,
		open: func(ctx context.Context, former clients.Lock) (*client, error) {
			again := cfg
			again.Again = true // what a fault has stopped may not answer yet
			next, _, err := t.open(ctx, again, former, o, log)
			return next, err
		},
	}, declared, nil
}

// openWithin is how long opening a lock may take. openAgain is when a client that is started
// again tries once more: no event shows when a service is up again.
const (
	openWithin = 45 * time.Second // as long as a program has for it
	openAgain  = 100 * time.Millisecond
)

// openLock opens the lock. A client that is started again tries until it can: a library that
// connects at once may find a service that a fault has stopped, and waits for it as an application
// that a supervisor restarts would. One that had a lock before opens that one anew, if it can be done.
func openLock(ctx context.Context, info clients.Info, o clients.Options, former clients.Lock, again bool) (clients.Lock, error) {
	if r, ok := former.(clients.Reopener); ok {
		lock, err := r.Reopen(ctx, o)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			o.Log.Warn("a lock that can be opened once more could not: it gets a new process", "lock", info.Name, "error", err)
		}
	}
	for {
		lock, err := info.Open(ctx, o)
		if err == nil || !again {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(openAgain):
		}
	}
}

// openRegister makes the client's access to the register, for any backend.
func (t Tables) openRegister(cfg Config) (register.Resource, error) {
	name := cfg.Register
	if name == "" {
		name = register.Builtin
	}
	b, err := t.Backends.Lookup(name)
	if err != nil {
		return nil, err
	}
	d, err := register.ParseFencingMode(cmp.Or(cfg.Fencing, register.FencingMode{}.String()))
	if err != nil {
		return nil, err
	}
	return b.Open(cfg.RegisterAddr, d), nil
}
