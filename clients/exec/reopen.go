package exec

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/clients"
)

// Reopen implements Reopener, of a program that declares it. The child is the new lock's from then on.
func (l *execLock) Reopen(ctx context.Context, o clients.Options) (clients.Lock, error) {
	c, err := l.give()
	if err != nil {
		return nil, fmt.Errorf("exec: reopen: %w", err)
	}
	next := &execLock{command: l.command, options: o, abilities: l.abilities, turn: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(ctx, OpenWithin)
	defer cancel()
	c.forget()
	if err := next.open(ctx, c); err != nil {
		c.close()
		return nil, fmt.Errorf("exec: reopen: %w", err)
	}
	next.child = c
	return next.as(), nil
}

// give takes the child out of a lock, if it can be opened once more.
func (l *execLock) give() (*child, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.child == nil || !l.abilities.Reopens {
		return nil, errors.ErrUnsupported
	}
	if err := l.child.ended(); err != nil {
		return nil, err
	}
	c := l.child
	l.child = nil
	return c, nil
}

// forget drops all grants: what the child reports of their keys from now on is late.
func (c *child) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.grants)
}
