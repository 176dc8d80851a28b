package postgres

import (
	"context"
	"time"

	"github.com/picklock/picklock/clients"
)

func postgresSharedInfo() clients.Info {
	return clients.Info{
		Name:       "postgres-shared",
		About:      "Postgres: pg_advisory_lock_shared against pg_advisory_lock, held by a session",
		Cluster:    "postgres",
		Kind:       clients.ReadWrite,
		Confirms:   true, // as postgres-session
		Downgrades: true,
		MinTTL:     time.Second,
		Inspect:    lookPgAdvisory,
		Options:    []clients.Option{pgKeepalive},
		Open: openPostgres("postgres-shared", false, func(p *postgres) (clients.Lock, error) {
			return pgSharedLock{p}, nil
		}),
	}
}

// pgSharedLock is a session's advisory lock in one of its two modes, without a token: a
// sequence from which readers draw together would not order them.
type pgSharedLock struct{ *postgres }

const (
	pgTryShared    = `SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0))`
	pgLockShared   = `SELECT pg_advisory_lock_shared(hashtextextended($1, 0))`
	pgUnlockShared = `SELECT pg_advisory_unlock_shared(hashtextextended($1, 0))`
)

// pgSharedGrant is a grant's Ref.
type pgSharedGrant struct {
	session *pgSession
	unlock  string
}

func (l pgSharedLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.take(ctx, key, pgTryLock, pgLock, pgUnlock)
}

// AcquireShared implements Sharer.
func (l pgSharedLock) AcquireShared(ctx context.Context, key string) (clients.Grant, error) {
	return l.take(ctx, key, pgTryShared, pgLockShared, pgUnlockShared)
}

func (l pgSharedLock) take(ctx context.Context, key, try, wait, unlock string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context, s *pgSession) (clients.Grant, error) {
		if err := l.lock(ctx, s, try, wait, unlock, key); err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Lost: s.lost, Ref: pgSharedGrant{s, unlock}}, nil
	})
}

// Downgrade implements clients.Downgrader. The session has the lock in both modes for a moment: what it has exclusively
// keeps nobody but others from sharing it.
func (l pgSharedLock) Downgrade(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	s := g.Ref.(pgSharedGrant).session
	if _, err := s.value(ctx, pgLockShared, g.Key); err != nil {
		return clients.Grant{}, l.unreleased(g, s, err)
	}
	got, err := s.value(ctx, pgUnlock, g.Key)
	if err == nil && got != "t" {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return clients.Grant{}, l.unreleased(g, s, err)
	}
	return clients.Grant{Key: g.Key, Lost: s.lost, Ref: pgSharedGrant{s, pgUnlockShared}}, nil
}

func (l pgSharedLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(pgSharedGrant)
	got, err := ref.session.value(ctx, ref.unlock, g.Key)
	if err == nil && got == "t" {
		l.free(ref.session)
		return nil
	}
	if err == nil {
		err = clients.ErrNotHeld
	}
	return l.unreleased(g, ref.session, err)
}
