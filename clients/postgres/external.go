package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "postgres", Stores: stores}
}

// reach adds the login, the database and TLS of an external server.
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

// pgCleanSchema removes the objects of pgSchema, under the same lock, unless a run still has
// something in them.
const pgCleanSchema = `SET LOCAL lock_timeout = '10s';
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

// stores are the tables. Advisory locks leave nothing when their session has ended.
func stores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	o.TTL = max(o.TTL, 5*time.Second)
	c, err := pgConfig(o, false)
	if err != nil {
		return err
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	s := &pgSession{conn: conn, lost: make(chan struct{})}
	defer s.close()
	if err := do(s.rows("picklock_row")); err != nil {
		return err
	}
	leases := s.rows("picklock_lease")
	leases.Done = func(ctx context.Context) error { return s.script(ctx, pgCleanSchema) }
	return do(leases)
}

// rows are those of a table, which need not be there.
func (s *pgSession) rows(table string) clients.Store {
	keys := func(ctx context.Context, sql, text string) ([][]string, error) {
		rows, _, err := s.query(ctx, sql, text)
		if undefined(err) {
			return nil, nil
		}
		return rows, err
	}
	return clients.Store{
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			rows, err := keys(ctx, "SELECT key FROM "+table+" WHERE strpos(key, $1) = 1", prefix)
			for _, row := range rows {
				if err == nil {
					err = do(row[0])
				}
			}
			return err
		},
		Delete: func(ctx context.Context, key string) (bool, error) {
			rows, err := keys(ctx, "DELETE FROM "+table+" WHERE key = $1 RETURNING key", key)
			return len(rows) > 0, err
		},
	}
}
