package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func postgresRowInfo() clients.Info {
	return clients.Info{
		Name:     "postgres-row",
		About:    "Postgres: SELECT ... FOR UPDATE NOWAIT on a row, held by an open transaction until its commit",
		Cluster:  "postgres",
		Confirms: true, // as for postgres-xact
		MinTTL:   time.Second,
		Options:  []clients.Option{pgKeepalive},
		Open: openPostgres("postgres-row", false, func(p *postgres) (clients.Lock, error) {
			return pgRowLock{p}, nil
		}),
	}
}

// pgRowLock is a row that a transaction has locked. A client that finds it locked asks
// again: NOWAIT does not queue. It has no token, as pgXactLock has none. A counter in the row
// would be none either, because the crash of a holder rolls it back.
type pgRowLock struct{ *postgres }

const (
	pgLockRow = `SELECT true FROM picklock_row WHERE key = $1 FOR UPDATE NOWAIT`
	pgMakeRow = `INSERT INTO picklock_row (key) VALUES ($1) ON CONFLICT DO NOTHING`
)

// lockNotAvailable is the SQLSTATE of NOWAIT's refusal.
const lockNotAvailable = "55P03"

// Acquire asks until the row is not locked.
func (l pgRowLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context, s *pgSession) (clients.Grant, error) {
		grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
		defer cancel()
		if err := l.begin(ctx, s); err != nil {
			return clients.Grant{}, err
		}
		got, err := s.value(grace, pgLockRow, key)
		switch {
		case err == nil && got == "t":
			return clients.Grant{Lost: s.lost, Ref: s}, nil
		case pgDoubt(err) && !pgEnded(err):
			l.drop(s)
			return clients.Grant{}, fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		}
		if _, _, rerr := s.query(grace, "ROLLBACK"); rerr != nil {
			l.drop(s) // the transaction held nothing
			return clients.Grant{}, rerr
		}
		if err == nil { // there is no such row yet
			if _, _, err = s.query(grace, pgMakeRow, key); err == nil {
				err = errPgAgain
			}
		}
		l.free(s)
		if pgCode(err) == lockNotAvailable {
			return clients.Grant{}, errPgHeld
		}
		return clients.Grant{}, err
	})
}

func (l pgRowLock) Release(ctx context.Context, g clients.Grant) error { return l.commit(ctx, g) }
