package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "postgres", Clean: clean, Names: names}
}

// reach has a session made as a server of somebody's own wants it.
func reach(c *pgconn.Config, o clients.Options) error {
	if o.External == nil {
		return nil
	}
	username, password, err := o.Login()
	if err != nil {
		return err
	}
	c.User, c.Password = cmp.Or(username, c.User), password
	c.Database = cmp.Or(o.External.Database, c.Database)
	if c.TLSConfig, err = o.TLS(o.Servers[0]); err != nil {
		return err
	}
	for i, f := range c.Fallbacks { // the other servers, in their order
		if f.TLSConfig, err = o.TLS(o.Servers[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// The statements of clean, each in a transaction of its own. Whoever makes the objects (see
// pgSchema) does so under the same lock; objects in which another run has something stay.
const (
	pgCleanRows   = `DELETE FROM picklock_row WHERE strpos(key, $1) = 1`
	pgCleanLeases = `DELETE FROM picklock_lease WHERE strpos(key, $1) = 1`
	pgCleanSchema = `SET LOCAL lock_timeout = '10s';
SELECT pg_advisory_xact_lock(8029763591);
DO $$ BEGIN
	IF to_regclass('picklock_row') IS NOT NULL THEN
		LOCK TABLE picklock_row, picklock_lease;
		IF NOT EXISTS (SELECT FROM picklock_row) AND NOT EXISTS (SELECT FROM picklock_lease) THEN
			DROP TABLE picklock_row, picklock_lease;
			DROP SEQUENCE picklock_token;
		END IF;
	END IF;
END $$`
)

// clean removes the rows of the locks, and their tables where nobody else has rows there. Of
// advisory locks nothing is left when their session has ended.
func clean(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	o.TTL = max(o.TTL, 5*time.Second)
	c, err := pgConfig(o, false)
	if err != nil {
		return 0, err
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("postgres: remove the rows with %s: %w", mark, err)
	}
	s := &pgSession{conn: conn, lost: make(chan struct{})}
	defer s.close()
	for _, sql := range []string{pgCleanRows, pgCleanLeases} {
		_, tag, err := s.query(ctx, sql, mark)
		if undefined(err) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("postgres: remove the rows with %s: %w", mark, err)
		}
		some, _ := strconv.Atoi(strings.TrimPrefix(tag, "DELETE ")) // nothing else answers to it
		n += some
	}
	if err := s.script(ctx, pgCleanSchema); err != nil {
		return n, fmt.Errorf("postgres: remove the tables of picklock: %w", err)
	}
	return n, nil
}

// names are the keys of the rows.
func names(ctx context.Context, o clients.Options) (out []string, err error) {
	for _, table := range []string{"picklock_row", "picklock_lease"} {
		text, err := pgAsk(ctx, o, "SELECT coalesce(string_agg(key, E'\n'), '') FROM "+table)
		if undefined(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("postgres: look for the rows of runs: %w", err)
		}
		out = append(out, strings.Split(text, "\n")...)
	}
	return out, nil
}
