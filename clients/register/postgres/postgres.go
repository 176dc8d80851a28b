// Package postgres is the protected resource as a table in Postgres.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// Backend is its line in the table.
func Backend() register.Backend {
	return register.Backend{
		Name: "postgres", About: "a table in Postgres: a conditional UPDATE, with an audit row in the same statement", Cluster: "postgres",
		Open: func(addr string, m register.FencingMode) register.Resource {
			return &pgResource{register.Conn[pgConn]{
				Addr: addr, FencingMode: m,
				Dial: func(ctx context.Context, addr string) (pgConn, error) {
					c, err := pgConnect(ctx, addr)
					return pgConn{c}, err
				},
			}}
		},
		OpenAdmin: openPostgresAdmin,
	}
}

// One statement is one transaction. The row's lock orders the requests of a key, and
// the audit row draws its number under that lock. If an UPDATE had to wait for it, Postgres
// evaluates its condition again on what the other one left (READ COMMITTED).
const (
	pgSchema = `
		CREATE TABLE resource (key text PRIMARY KEY, value text NOT NULL DEFAULT '', version bigint NOT NULL DEFAULT 0, token bigint NOT NULL DEFAULT 0);
		CREATE TABLE audit (
			seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(),
			process text, f text, key text, grant_id text, token bigint, value text, parent text, version bigint, highest bigint, refused boolean)`

	pgWrite = `WITH done AS (
			UPDATE resource SET value = $5, version = version + 1, token = greatest(token, $4)
			WHERE key = $1 AND token < $7 RETURNING *)` + pgAudit
	pgReadFenced = `WITH done AS (
			UPDATE resource SET token = greatest(token, $4)
			WHERE key = $1 AND token < $7 RETURNING *)` + pgAudit
	pgRead    = `WITH done AS (SELECT * FROM resource WHERE key = $1 AND token < $7 FOR UPDATE)` + pgAudit
	pgRefused = `WITH done AS (SELECT * FROM resource WHERE key = $1 AND token >= $7 FOR UPDATE)
		INSERT INTO audit (process, f, key, grant_id, token, value, parent, version, highest, refused)
		SELECT $2, $8, $1, $3, $4, $5, $6, version, token, true FROM done RETURNING value, version, highest`
	pgAudit = `
		INSERT INTO audit (process, f, key, grant_id, token, value, parent, version, highest, refused)
		SELECT $2, $8, $1, $3, $4, value, $6, version, token, false FROM done RETURNING value, version, highest`
)

// pgConn closes the socket at once, without Postgres's message of termination, which could
// wait behind a cut.
type pgConn struct{ *pgconn.PgConn }

func (c pgConn) Close() error { return c.Conn().Close() }

type pgResource struct {
	register.Conn[pgConn]
}

func (p *pgResource) Do(ctx context.Context, r register.Request) (register.Reply, error) {
	return p.Conn.Do(ctx, r, func(c pgConn) (register.Reply, error) { return p.send(ctx, c, r) })
}

func (p *pgResource) send(ctx context.Context, c pgConn, r register.Request) (register.Reply, error) {
	write := r.F != history.Read
	sql := pgWrite
	switch {
	case !write && p.FencingMode.Raises(false):
		sql = pgReadFenced
	case !write:
		sql = pgRead
	}
	bar := p.FencingMode.Bar(write, r.Token)
	args := []string{r.Key, r.Process, r.Grant, strconv.FormatInt(r.Token, 10), r.Value, r.Parent, strconv.FormatInt(bar, 10), r.F}
	row, err := query(ctx, c, sql, args)
	if err != nil || row != nil {
		return row.reply(), p.describe(r, err)
	}
	// The highest token only rises: the refusal still holds.
	if row, err = query(ctx, c, pgRefused, args); err != nil {
		// It had no effect, whatever the outcome of the audit row.
		return register.Reply{}, fmt.Errorf("register %s: refused, but not logged: %w", p.Addr, err)
	}
	if row == nil {
		return register.Reply{}, fmt.Errorf("register %s: no key %q", p.Addr, r.Key)
	}
	return register.Reply{}, p.FencingMode.Refused(r, row.highest)
}

func (p *pgResource) describe(r register.Request, err error) error {
	switch {
	case err == nil:
		return nil
	case pgconn.SafeToRetry(err):
		return p.NotSent(err)
	}
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Severity == "ERROR" {
		return fmt.Errorf("register %s: %w", p.Addr, err) // rolled back
	}
	return p.InDoubt(r, err)
}

type pgRow struct {
	value            string
	version, highest int64
}

func (r *pgRow) reply() register.Reply {
	if r == nil {
		return register.Reply{}
	}
	return register.Reply{Value: r.value, Version: r.version}
}

// query returns the first row, nil for none.
func query(ctx context.Context, c pgConn, sql string, args []string) (*pgRow, error) {
	const text, bigint = pgtype.TextOID, pgtype.Int8OID
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := c.ExecParams(ctx, sql, values, []uint32{text, text, text, bigint, text, text, bigint, text}, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	if len(res.Rows) == 0 {
		return nil, nil
	}
	row := &pgRow{value: string(res.Rows[0][0])}
	var err, err2 error
	row.version, err = strconv.ParseInt(string(res.Rows[0][1]), 10, 64)
	row.highest, err2 = strconv.ParseInt(string(res.Rows[0][2]), 10, 64)
	return row, errors.Join(err, err2)
}

func pgConnect(ctx context.Context, addr string) (*pgconn.PgConn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	c, err := pgconn.ParseConfig(fmt.Sprintf("host=%s port=%s user=postgres database=postgres sslmode=disable", host, port))
	if err != nil {
		return nil, err
	}
	return pgconn.ConnectConfig(ctx, c)
}

type pgAdmin struct {
	conn   *pgconn.PgConn
	mode   register.FencingMode
	offset int64 // from the server's clock to the run's, in ns
}

func openPostgresAdmin(ctx context.Context, addr string, m register.FencingMode, keys []string, start int64) (register.Admin, error) {
	conn, err := pgConnect(ctx, addr)
	if err != nil {
		return nil, err
	}
	a := &pgAdmin{conn: conn, mode: m}
	err = conn.Exec(ctx, pgSchema).Close()
	for _, key := range keys {
		err = errors.Join(err, conn.ExecParams(ctx, `INSERT INTO resource (key) VALUES ($1)`, [][]byte{[]byte(key)}, nil, nil, nil).Read().Err)
	}
	if err == nil {
		a.offset, err = register.ClockOffset(start, func() (int64, error) {
			res := conn.ExecParams(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, nil, nil, nil, nil).Read()
			if res.Err != nil {
				return 0, res.Err
			}
			us, err := strconv.ParseInt(string(res.Rows[0][0]), 10, 64)
			return us * 1000, err
		})
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *pgAdmin) Log(ctx context.Context) ([]history.Effect, error) {
	res := a.conn.ExecParams(ctx, `SELECT (extract(epoch FROM at) * 1000000)::bigint, token, version, highest, process, f, key, grant_id, value, parent, refused
		FROM audit ORDER BY seq`, nil, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	var out []history.Effect
	for i, row := range res.Rows {
		var n [4]int64
		for j := range n {
			var err error
			if n[j], err = strconv.ParseInt(string(row[j]), 10, 64); err != nil {
				return nil, fmt.Errorf("audit row %d: %w", i+1, err)
			}
		}
		out = append(out, a.mode.Effect(history.Effect{
			Seq: int64(i + 1), Time: n[0]*1000 + a.offset, Token: n[1], Version: n[2], Highest: n[3],
			Process: string(row[4]), F: string(row[5]), Key: string(row[6]), Grant: string(row[7]), Value: string(row[8]), Parent: string(row[9]),
		}, string(row[10]) == "t"))
	}
	return out, nil
}

func (a *pgAdmin) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return a.conn.Close(ctx)
}
