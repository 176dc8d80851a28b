package clients

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// execInfo makes a lock of a command that speaks the exec protocol: JSON lines on
// its standard input and output (DESIGN.md, section 4). Beyond what that shows:
//
//   - "timeout_ms" is absent where the wait has no limit.
//   - "lease_ms" alone counts the lease from when the request went to the child.
//     With "since_ns", CLOCK_MONOTONIC in ns right before the child sent the request
//     that was granted (Python: time.monotonic_ns()), it counts from there: give it,
//     or a lease that was waited for proves next to nothing.
//   - An error without "definite":true leaves the outcome open. The definite error
//     "not held" on a release is the service's word that the grant is gone.
//   - "close" needs no answer: the child may just end.
//   - The child is killed, and another started for the next acquire, when it breaks
//     the protocol or does not answer in time.
func execInfo(command string) (Info, error) {
	if command == "" {
		return Info{}, errors.New("exec lock without a command: want exec:COMMAND, as in exec:'python3 my_lock.py'")
	}
	return Info{
		Name:    "exec:" + command,
		About:   "a command that speaks JSON lines on its standard input and output",
		Fencing: false, // not known before its first grant
		// The program knows its options; it gets them with the open.
		AnyOption: true,
		Open: func(ctx context.Context, o Options) (Lock, error) {
			l := &execLock{command: command, options: o}
			if _, err := l.started(ctx); err != nil {
				return nil, fmt.Errorf("exec %q: %w", command, err)
			}
			return l, nil
		},
	}, nil
}

type execLock struct {
	command string
	options Options

	mu    sync.Mutex
	child *child // the one in use, perhaps ended
}

// started returns a child that is open, a new one if the last has ended.
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
	c, err := startChild(l.command)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	r := execRequest{
		Op: "open", Servers: l.options.Servers, Shared: l.options.Directory, Client: l.options.Client,
		TTL: l.options.TTL.Milliseconds(), Options: l.options.Extra,
	}
	if r.Options == nil {
		r.Options = map[string]string{}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if _, err := l.ask(ctx, c, r); err != nil {
		c.close()
		// Whatever became of it, an open grants nothing.
		return nil, fmt.Errorf("open: %s", err) //nolint:errorlint // the outcome must not be taken for unknown
	}
	l.child = c
	return c, nil
}

// ask puts a request to the child and tells its kinds of refusal apart. The child
// has the same deadline as we, so it gets a moment more to say that it passed.
func (l *execLock) ask(ctx context.Context, c *child, r execRequest) (execAnswer, error) {
	a, err := c.ask(ctx, r, min(max(l.options.TTL, 250*time.Millisecond), 2*time.Second))
	switch {
	case err != nil || *a.OK:
		return a, err
	case !a.Definite:
		return a, fmt.Errorf("%w: %s", ErrUnknown, a.Error)
	case a.Error == ErrNotHeld.Error():
		return a, ErrNotHeld
	}
	return a, fmt.Errorf("child: %s", a.Error)
}

func (l *execLock) Acquire(ctx context.Context, key string) (Grant, error) {
	r := execRequest{Op: "acquire", Key: key}
	c, err := l.started(ctx)
	if err != nil {
		return Grant{}, fmt.Errorf("exec: acquire %s: %w", key, err)
	}
	if end, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Until(end).Milliseconds(), 1)
	}
	sent := history.Now()
	a, err := l.ask(ctx, c, r)
	if err != nil {
		return Grant{}, fmt.Errorf("exec: acquire %s: %w", key, err)
	}
	if now := history.Now(); a.Token < 0 || a.Lease < 0 || a.Since != 0 && (a.Since < sent || a.Since > now) {
		err := fmt.Errorf("token, lease_ms or since_ns out of range (now %d, asked at %d): %s", now, sent, a.line)
		c.fail(err)
		return Grant{}, fmt.Errorf("exec: acquire %s: %w: %w", key, ErrUnknown, err)
	}
	g := Grant{Key: key, Token: a.Token, Lost: a.lost, Ref: c}
	if a.Lease > 0 {
		g.Since, g.Lease = max(sent, a.Since), time.Duration(a.Lease)*time.Millisecond
	}
	return g, nil
}

func (l *execLock) Release(ctx context.Context, g Grant) error {
	_, err := l.ask(ctx, g.Ref.(*child), execRequest{Op: "release", Key: g.Key})
	if errors.Is(err, errNotAsked) {
		// Its end may have released the lock: connections closed, file locks dropped.
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err != nil {
		return fmt.Errorf("exec: release %s: %w", g.Key, err)
	}
	return nil
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
