package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// lookPgAdvisory counts the sessions that hold an advisory lock or wait for it.
func lookPgAdvisory(ctx context.Context, o clients.Options, key string) (int, error) {
	// A 64-bit key is shown in halves; objsubid 1 marks such a key.
	return lookPg(ctx, o, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
		AND (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`, key)
}

// lookPgLease counts the row of a lease that has time left.
func lookPgLease(ctx context.Context, o clients.Options, key string) (int, error) {
	return lookPg(ctx, o, `SELECT count(*) FROM picklock_lease WHERE key = $1 AND expires_at > clock_timestamp()`, key)
}

// lookPg asks for one number; there is none of anything in a table that is not there.
func lookPg(ctx context.Context, o clients.Options, sql, key string) (int, error) {
	text, err := pgAsk(ctx, o, sql, key)
	if undefined(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", o.Servers[0], err)
	}
	return strconv.Atoi(text)
}

// pgAsk asks for one value, on a connection of its own.
func pgAsk(ctx context.Context, o clients.Options, sql string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, adapter.InspectWithin)
	defer cancel()
	o.TTL = adapter.InspectWithin
	config, err := pgConfig(o, true)
	if err != nil {
		return "", err
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	s := &pgSession{conn: conn, lost: make(chan struct{})}
	defer s.close()
	return s.value(ctx, sql, args...)
}
