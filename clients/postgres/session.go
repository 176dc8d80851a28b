package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func postgresSessionInfo() clients.Info {
	return clients.Info{
		Name:     "postgres-session",
		About:    "Postgres: pg_advisory_lock, held by a session, and a fencing token drawn from a sequence under it",
		Cluster:  "postgres",
		Fencing:  true,
		Confirms: true, // the unlock's answer says whether the session held it
		MinTTL:   time.Second,
		Inspect:  lookPgAdvisory,
		Options:  []clients.Option{pgKeepalive},
		Open: openPostgres("postgres-session", false, func(p *postgres) (clients.Lock, error) {
			return pgSessionLock{p}, nil
		}),
	}
}

// pgSessionLock is a session's advisory lock. It lasts as long as the session, which has
// no promised time. Each grant has a session of its own: one session could take
// its lock twice.
//
// The token is sound: the sequence is asked by the session that has the lock, in a
// statement of its own, so the lock was held when it was drawn, it was committed before
// it was used, and the next holder draws later.
type pgSessionLock struct{ *postgres }

// The key's 64 bits are the server's own hash of it.
const (
	pgTryLock   = `SELECT pg_try_advisory_lock(hashtextextended($1, 0))`
	pgLock      = `SELECT pg_advisory_lock(hashtextextended($1, 0))`
	pgUnlock    = `SELECT pg_advisory_unlock(hashtextextended($1, 0))`
	pgDrawToken = `SELECT nextval('picklock_token')` //nolint:gosec // a fencing token, no credential
)

// Acquire queues up at the server when the lock is held.
func (l pgSessionLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context, s *pgSession) (clients.Grant, error) {
		if err := l.lock(ctx, s, pgTryLock, pgLock, pgUnlock, key); err != nil {
			return clients.Grant{}, err
		}
		token, err := l.token(ctx, s)
		if err != nil {
			l.drop(s) // and with it the lock, as soon as the server notices
			return clients.Grant{}, fmt.Errorf("%w: granted, and then: %w", clients.ErrUnknown, err)
		}
		return clients.Grant{Token: token, Lost: s.lost, Ref: s}, nil
	})
}

// lock acquires an advisory lock for the session, at once or after a wait. unlock releases it;
// "" if the end of a transaction does. An error is
// definite unless it wraps ErrUnknown; the session is then given up, or free again and without the lock.
func (p *postgres) lock(ctx context.Context, s *pgSession, try, wait, unlock, key string) error {
	grace, cancel := adapter.WithGrace(ctx, p.options.TTL)
	defer cancel()
	got, err := s.value(grace, try, key)
	if err == nil && got != "t" {
		p.options.TellWaiting()
		_, err = s.value(ctx, wait, key)
	}
	switch {
	case err == nil:
		return nil
	case pgDoubt(err) && !pgEnded(err):
		p.drop(s)
		return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	case unlock != "" && pgCode(err) == pgQueryCanceled:
		// A session may be granted the lock, be cancelled before it returns, and answer that
		// it was cancelled. Then it has the lock, and goes back into use only without it.
		clean, cancel := adapter.WithGrace(ctx, p.options.TTL)
		defer cancel()
		if _, uerr := s.value(clean, unlock, key); uerr != nil {
			p.drop(s)
			if !pgEnded(uerr) {
				return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
			}
		}
	}
	p.free(s)
	return err
}

// pgQueryCanceled is the SQLSTATE of a statement that was cancelled.
const pgQueryCanceled = "57014"

// token draws a token for a session that has its lock.
func (l pgSessionLock) token(ctx context.Context, s *pgSession) (int64, error) {
	grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
	defer cancel()
	text, err := s.value(grace, pgDrawToken)
	if undefined(err) {
		if err = s.script(grace, pgSchema); err == nil {
			text, err = s.value(grace, pgDrawToken)
		}
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func (l pgSessionLock) Release(ctx context.Context, g clients.Grant) error {
	s := g.Ref.(*pgSession)
	got, err := s.value(ctx, pgUnlock, g.Key)
	if err == nil && got == "t" {
		l.free(s)
		return nil
	}
	if err == nil {
		err = clients.ErrNotHeld
	}
	return l.unreleased(g, s, err)
}

// unreleased gives up a session whose release failed, so that the lock does not stay
// with it, and returns what the failure means.
func (p *postgres) unreleased(g clients.Grant, s *pgSession, err error) error {
	p.drop(s)
	if pgEnded(err) || errors.Is(err, clients.ErrNotHeld) {
		return fmt.Errorf("%s: release %s: %w: %w", p.name, g.Key, clients.ErrNotHeld, err)
	}
	return fmt.Errorf("%s: release %s: %w: %w", p.name, g.Key, clients.ErrUnknown, err)
}
