package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func postgresXactInfo() clients.Info {
	return clients.Info{
		Name:     "postgres-xact",
		About:    "Postgres: pg_advisory_xact_lock, held by an open transaction until its commit",
		Cluster:  "postgres",
		Confirms: true, // a transaction that could be committed was open, and had its lock, until then
		MinTTL:   time.Second,
		Inspect:  lookPgAdvisory,
		Options:  []clients.Option{pgKeepalive},
		Open: openPostgres("postgres-xact", false, func(p *postgres) (clients.Lock, error) {
			return pgXactLock{p}, nil
		}),
	}
}

// pgXactLock is a transaction's advisory lock. It has no token: a number drawn from a
// sequence in a transaction that is still open is not on the disk yet, so that a server
// that crashes draws it again.
type pgXactLock struct{ *postgres }

const (
	pgTryLockXact = `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))`
	pgLockXact    = `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`
)

// Acquire queues up at the server when the lock is held.
func (l pgXactLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context, s *pgSession) (clients.Grant, error) {
		if err := l.begin(ctx, s); err != nil {
			return clients.Grant{}, err
		}
		if err := l.lock(ctx, s, pgTryLockXact, pgLockXact, "", key); err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Lost: s.lost, Ref: s}, nil
	})
}

// begin opens a transaction. A session that fails to is given up.
func (p *postgres) begin(ctx context.Context, s *pgSession) error {
	grace, cancel := adapter.WithGrace(ctx, p.options.TTL)
	defer cancel()
	_, _, err := s.query(grace, "BEGIN")
	if err != nil {
		p.drop(s) // an empty transaction holds nothing, begun or not
	}
	return err
}

func (l pgXactLock) Release(ctx context.Context, g clients.Grant) error { return l.commit(ctx, g) }

// commit ends the transaction that a grant is bound to.
func (p *postgres) commit(ctx context.Context, g clients.Grant) error {
	s := g.Ref.(*pgSession)
	if !s.over() && s.conn.TxStatus() == pgIdle {
		return fmt.Errorf("%s: release %s: %w: its transaction has ended before", p.name, g.Key, clients.ErrNotHeld)
	}
	_, tag, err := s.query(ctx, "COMMIT")
	if err == nil && tag == "COMMIT" {
		p.free(s)
		return nil
	}
	if err == nil {
		// The server had ended the transaction, and its locks, before.
		err = fmt.Errorf("%w: the commit became a %s", clients.ErrNotHeld, tag)
	}
	return p.unreleased(g, s, err)
}
