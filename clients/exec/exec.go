// Package exec has the locks that are users' programs, which speak JSON lines
// (docs/reference/exec.md). It knows the protocol and processes, and no service.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

// Program makes a lock of a command that speaks the exec protocol: JSON lines on
// its standard input and output (docs/reference/exec.md). Beyond what that shows:
//
//   - "timeout_ms" is absent where the wait has no limit.
//   - "lease_ms" alone counts the lease from when the request went to the child.
//     With "since_ns", CLOCK_MONOTONIC in ns right before the child sent the request
//     that was granted (Python: time.monotonic_ns()), it counts from there: give it,
//     or a lease after a wait proves next to nothing.
//   - An error without "definite":true leaves the outcome open. The definite error
//     "not held" on a release or a renew is the service's answer that the grant is gone.
//   - "close" needs no answer: the child may just end.
//   - The child is killed, and another started for the next acquire, when it breaks
//     the protocol or does not answer in time.
func Program(command string) (clients.Info, error) {
	if command == "" {
		return clients.Info{}, errors.New("exec lock without a command: want exec:COMMAND, as in exec:'python3 my_lock.py'")
	}
	return clients.Info{
		Name:     clients.ExecPrefix + command,
		About:    "a command that speaks JSON lines on its standard input and output",
		Declares: true,
		// The program knows its options; it gets them with the open.
		AnyOption: true,
		Open: func(ctx context.Context, o clients.Options) (clients.Lock, error) {
			l := &execLock{command: command, options: o, turn: make(chan struct{}, 1)}
			if _, err := l.started(ctx); err != nil {
				return nil, fmt.Errorf("exec %q: %w", command, err)
			}
			return l.as(), nil
		},
	}, nil
}

type execLock struct {
	command string
	options clients.Options
	unsaid  sync.Once     // that a lease was promised without since_ns
	turn    chan struct{} // of one: whose it is asks

	mu        sync.Mutex
	child     *child             // the one in use, perhaps ended
	ready     *child             // the one of the last Start
	abilities *clients.Abilities // nil until a child was open
}

// as is the lock with only the methods of its abilities, for which its users type-assert.
func (l *execLock) as() clients.Lock {
	a := l.Abilities()
	if a.Holds {
		return l.asHolder(a)
	}
	switch {
	case a.Renew && a.Kind == clients.ReadWrite:
		return struct {
			*execLock
			execRenewer
			execSharer
		}{l, execRenewer{l}, execSharer{l}}
	case a.Renew:
		return struct {
			*execLock
			execRenewer
		}{l, execRenewer{l}}
	case a.Kind == clients.ReadWrite:
		return struct {
			*execLock
			execSharer
		}{l, execSharer{l}}
	}
	return l
}

// asHolder is as for a lock that can be asked whether it is held.
func (l *execLock) asHolder(a clients.Abilities) clients.Lock {
	switch {
	case a.Renew && a.Kind == clients.ReadWrite:
		return struct {
			*execLock
			execHolder
			execRenewer
			execSharer
		}{l, execHolder{l}, execRenewer{l}, execSharer{l}}
	case a.Renew:
		return struct {
			*execLock
			execHolder
			execRenewer
		}{l, execHolder{l}, execRenewer{l}}
	case a.Kind == clients.ReadWrite:
		return struct {
			*execLock
			execHolder
			execSharer
		}{l, execHolder{l}, execSharer{l}}
	}
	return struct {
		*execLock
		execHolder
	}{l, execHolder{l}}
}

// Abilities implements Declarer.
func (l *execLock) Abilities() clients.Abilities {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.abilities
}

// started returns a child that is open, a new one if the last has ended. All errors
// are the program's.
func (l *execLock) started(ctx context.Context) (*child, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.child != nil {
		if l.child.ended() == nil {
			return l.child, nil
		}
		l.child.close()
		l.child = nil
	}
	c, err := startChild(l.command, l.options.Folder)
	if err != nil {
		return nil, programError{fmt.Errorf("start: %w", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, OpenWithin)
	defer cancel()
	if err := l.open(ctx, c); err != nil {
		c.close()
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, err // ctx has ended
		}
		return nil, programError{err}
	}
	l.child = c
	return c, nil
}

// Start implements Starter.
func (l *execLock) Start(ctx context.Context) (anew bool, err error) {
	c, err := l.started(ctx)
	if err != nil {
		return false, fmt.Errorf("exec: start the program again: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	anew, l.ready = c != l.ready, c
	return anew, nil
}

// open opens the lock in a new child.
func (l *execLock) open(ctx context.Context, c *child) error {
	r := Request{
		Op: "open", Servers: l.options.Servers, Shared: l.options.Directory, Client: l.options.Client,
		TTL: l.options.TTL.Milliseconds(), Options: l.options.Extra,
	}
	if r.Options == nil {
		r.Options = map[string]string{}
	}
	answer, err := l.ask(ctx, c, r)
	if err != nil {
		// Whatever its outcome, an open grants nothing.
		err = withoutUnknown(err)
	} else {
		err = l.declared(answer, c)
	}
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return nil
}

// withoutUnknown is err's text: it must not be taken for an unknown outcome.
func withoutUnknown(err error) error { return errors.New(err.Error()) }

// declared records what a child declares. All children of one lock must agree.
func (l *execLock) declared(answer Answer, c *child) error {
	a, err := answer.abilities.With(l.options.Abilities)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, answer.line)
	}
	if l.abilities != nil && !slices.Equal(l.abilities.Words(), a.Words()) {
		return fmt.Errorf("it declares %q now, and declared %q before", a.Words(), l.abilities.Words())
	}
	l.abilities = &a
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nested = a.Kind == clients.Reentrant
	return nil
}

// ask sends a request to the child and distinguishes its kinds of refusal. The child has the same
// deadline, so it gets a moment more to report that it passed.
func (l *execLock) ask(ctx context.Context, c *child, r Request) (Answer, error) {
	// The protocol asks for one thing at a time. What had to wait for its turn has as long for its answer as if it had not.
	waits := time.Now()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("another request was still open: %w", ctx.Err())
	}
	a, err := c.ask(ctx, r, Grace(l.options.TTL)+time.Since(waits))
	switch {
	case err != nil || *a.OK:
		return a, err
	case !a.Definite:
		return a, fmt.Errorf("%w: %s", clients.ErrUnknown, said(a.Error))
	case a.Error == clients.ErrNotHeld.Error():
		return a, clients.ErrNotHeld
	case r.Cancel > 0 && a.Error == clients.ErrCancelled.Error():
		return a, clients.ErrCancelled
	}
	return a, fmt.Errorf("its program answered: %s", said(a.Error))
}

// said bounds how much of a child's error is quoted.
func said(text string) string {
	if len(text) > childError {
		return strings.ToValidUTF8(text[:childError], "") + "..."
	}
	return text
}

func (l *execLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, Request{Key: key})
}

// AcquireCancelled implements Canceler, of a program that declares it.
func (l *execLock) AcquireCancelled(ctx context.Context, key string, shared bool, after time.Duration) (clients.Grant, error) {
	r := Request{Key: key, Cancel: max(after.Milliseconds(), 1)}
	if shared {
		r.Mode = history.Shared
	}
	return l.acquire(ctx, r)
}

func (l *execLock) acquire(ctx context.Context, r Request) (clients.Grant, error) {
	r.Op = acquireOp
	c, err := l.started(ctx)
	if err != nil {
		return clients.Grant{}, fmt.Errorf("exec: acquire %s: %w", r.Key, err)
	}
	return l.granted(ctx, c, r)
}

// granted asks the child for a grant.
func (l *execLock) granted(ctx context.Context, c *child, r Request) (clients.Grant, error) {
	if end, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Until(end).Milliseconds(), 1)
	}
	sent := history.Now()
	a, err := l.ask(ctx, c, r)
	if err != nil {
		return clients.Grant{}, fmt.Errorf("exec: %s %s: %w", r.Op, r.Key, err)
	}
	if err := l.check(a, sent, r.Op); err != nil {
		err = programError{fmt.Errorf("child wrote %s: %w", a.line, err)}
		c.Fail(err)
		return clients.Grant{}, fmt.Errorf("exec: %s %s: %w: %w", r.Op, r.Key, clients.ErrUnknown, err)
	}
	g := clients.Grant{Key: r.Key, Token: a.Token, Expired: a.Expired, Unrenewed: a.Watchdog != nil && !*a.Watchdog, Lost: a.grant.lost, Ended: c.Ended(), Renewals: a.grant.renewals, Ref: execRef{c, a.grant}}
	if a.Lease > 0 {
		g.Since, g.Lease = cmp.Or(a.Since, sent), time.Duration(a.Lease)*time.Millisecond
		if a.Since == 0 {
			l.unsaid.Do(func() {
				l.options.TellWarning(`the program promises leases ("lease_ms") and does not say since when ("since_ns"): they can only be counted from when the acquire was asked for, so that a lease that was waited for proves nothing`)
			})
		}
	}
	return g, nil
}

// check compares a grant with what is possible, and with what the child has declared.
func (l *execLock) check(a Answer, sent int64, op string) error {
	declares := l.Abilities()
	switch {
	case a.Token < 0:
		return errors.New("the token is negative: want one that rises with every grant, from 1")
	case a.Token == 0 && declares.Tokens && op == acquireOp:
		return errors.New(`the lock has tokens, as was declared, and this grant has no "token"`)
	case a.Lease == 0 && declares.Lease != nil && *declares.Lease:
		return errors.New(`every grant has a lease, as was declared, and this one has no "lease_ms"`)
	case a.Lease > 0 && declares.Lease != nil && !*declares.Lease:
		return errors.New(`no grant has a lease, as was declared, and this one has a "lease_ms"`)
	}
	return LeaseWithin(a, sent)
}

// execRef is a grant's Ref.
type execRef struct {
	child *child
	grant *childGrant
}

func (l *execLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(execRef)
	ref.child.release(g.Key, ref.grant)
	_, err := l.ask(ctx, ref.child, Request{Op: "release", Key: g.Key})
	if errors.Is(err, errNotAsked) {
		// Its end may have released the lock: connections closed, file locks dropped.
		err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	if err != nil {
		return fmt.Errorf("exec: release %s: %w", g.Key, err)
	}
	return nil
}

// execRenewer is an exec lock whose program renews.
type execRenewer struct{ l *execLock }

// Renew implements Renewer.
func (r execRenewer) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	c := g.Ref.(execRef).child
	sent := history.Now()
	a, err := r.l.ask(ctx, c, Request{Op: "renew", Key: g.Key})
	if err == nil {
		if err = LeaseWithin(a, sent); err == nil && a.Lease == 0 {
			err = errors.New(`a renew that succeeded needs "lease_ms"`)
		}
		if err != nil {
			err = programError{fmt.Errorf("child wrote %s: %w", a.line, err)}
			c.Fail(err)
			err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		}
	}
	if err != nil {
		return clients.Renewal{}, fmt.Errorf("exec: renew %s: %w", g.Key, err)
	}
	return clients.Renewal{Since: cmp.Or(a.Since, sent), Lease: time.Duration(a.Lease) * time.Millisecond}, nil
}

// execHolder is an exec lock whose program can be asked whether it holds the lock.
type execHolder struct{ l *execLock }

// Holds implements Holder.
func (h execHolder) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	c := g.Ref.(execRef).child
	a, err := h.l.ask(ctx, c, Request{Op: "holds", Key: g.Key})
	if err == nil && a.Held == nil {
		err = programError{fmt.Errorf(`child wrote %s: an answer to holds needs "held":true or "held":false`, a.line)}
		c.Fail(err)
	}
	switch {
	case errors.Is(err, clients.ErrNotHeld):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("exec: holds %s: %w", g.Key, err)
	}
	return *a.Held, nil
}

// execSharer is an exec lock that several clients can share.
type execSharer struct{ l *execLock }

// AcquireShared implements Sharer.
func (s execSharer) AcquireShared(ctx context.Context, key string) (clients.Grant, error) {
	return s.l.acquire(ctx, Request{Key: key, Mode: history.Shared})
}

// Downgrade implements Downgrader, of a program that declares it.
func (s execSharer) Downgrade(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	ref := g.Ref.(execRef)
	return s.l.granted(ctx, ref.child, Request{Op: downgradeOp, Key: g.Key})
}

// Close asks the child to end, and kills it if it has not within a second.
func (l *execLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.child != nil {
		l.child.close()
	}
	return nil
}
