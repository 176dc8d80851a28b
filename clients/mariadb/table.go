package mariadb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func tableInfo() clients.Info {
	return clients.Info{
		Name:      "mariadb-table",
		About:     "MariaDB: a table of leases judged by the server's clock, with a token that the row counts",
		Cluster:   "mariadb",
		Fencing:   true,
		Confirms:  true, // every statement compares owner, token and time
		OwnLeases: true,
		MinTTL:    10 * time.Millisecond,
		Inspect:   lookTable,
		Open:      openTable,
	}
}

// tableLock is a row with an owner, a token and an end. The row is never deleted, so that its token goes on.
//
// NOW is when the statement began, also if it waits for the row: a lease ends no earlier than one that is counted from when
// the statement was sent.
type tableLock struct {
	options clients.Options
	db      *sql.DB
}

// The statements. The columns are set in their order: what decides is set last.
const (
	takeRow = `INSERT INTO picklock.lease (name, owner, token, ends) VALUES (?, ?, 1, NOW(6) + INTERVAL ? MICROSECOND)
		ON DUPLICATE KEY UPDATE token = IF(ends <= NOW(6), LAST_INSERT_ID(token + 1), token),
			owner = IF(ends <= NOW(6), VALUES(owner), owner), ends = IF(ends <= NOW(6), VALUES(ends), ends)`
	renewRow = `UPDATE picklock.lease SET ends = NOW(6) + INTERVAL ? MICROSECOND WHERE name = ? AND owner = ? AND token = ? AND ends > NOW(6)`
	clearRow = `UPDATE picklock.lease SET ends = '1970-01-02', owner = '' WHERE name = ? AND owner = ? AND token = ? AND ends > NOW(6)`
)

// schema is what the lock needs.
var schema = []string{
	"CREATE DATABASE IF NOT EXISTS picklock",
	`CREATE TABLE IF NOT EXISTS picklock.lease (name VARBINARY(200) PRIMARY KEY, owner VARCHAR(40) NOT NULL, token BIGINT NOT NULL,
		ends DATETIME(6) NOT NULL) ENGINE=InnoDB`,
}

// undefined says that a statement failed for want of that.
func undefined(err error) bool { return says(err, noDatabase, noTable) }

func openTable(_ context.Context, o clients.Options) (clients.Lock, error) {
	db, err := connect(o, nil)
	if err != nil {
		return nil, fmt.Errorf("mariadb-table: %w", err)
	}
	return &tableLock{options: o, db: db}, nil
}

// Acquire asks until the lease is over.
func (l *tableLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for ctx.Err() == nil {
		g, err := l.try(ctx, key)
		switch {
		case err == nil:
			return g, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("mariadb-table: acquire %s: %w", key, err)
		case errors.Is(err, errHeld), says(err, deadlock):
			last = nil
			l.options.TellWaiting()
		case ctx.Err() == nil:
			last = err
		}
		adapter.Pause(ctx, l.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "mariadb-table", key, last)
}

func (l *tableLock) try(ctx context.Context, key string) (clients.Grant, error) {
	grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
	defer cancel()
	owner := rand.Text()
	since := history.Now()
	done, err := l.exec(grace, takeRow, key, owner, l.options.TTL.Microseconds())
	if undefined(err) {
		for _, text := range schema {
			if _, err := l.exec(grace, text); err != nil {
				return clients.Grant{}, err
			}
		}
		return l.try(ctx, key)
	}
	if err != nil {
		return clients.Grant{}, err
	}
	rows, err := done.RowsAffected()
	token := int64(1) // of a row that was not there
	if rows > 1 {
		token, err = done.LastInsertId()
	}
	switch {
	case err != nil:
		return clients.Grant{}, fmt.Errorf("%w: read the token: %w", clients.ErrUnknown, err)
	case rows == 0:
		return clients.Grant{}, errHeld
	}
	return clients.Grant{Key: key, Token: token, Since: since, Lease: l.options.TTL, Ref: owner}, nil
}

// exec does one statement. An error is definite unless it wraps ErrUnknown.
func (l *tableLock) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	conn, err := connection(ctx, l.db, l.options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin(l.options))
	defer cancel()
	defer conn.Close() // it goes back into use
	done, err := conn.ExecContext(ctx, text, args...)
	return done, outcome(err)
}

// Release ends the lease, if it is still this grant's.
func (l *tableLock) Release(ctx context.Context, g clients.Grant) error {
	return l.update(ctx, "release", g, clearRow, g.Key, g.Ref, g.Token)
}

// Renew moves the lease's end, if it is not over yet.
func (l *tableLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	since := history.Now()
	if err := l.update(ctx, "renew", g, renewRow, l.options.TTL.Microseconds(), g.Key, g.Ref, g.Token); err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: since, Lease: l.options.TTL}, nil
}

// update runs a statement on the grant's row.
func (l *tableLock) update(ctx context.Context, what string, g clients.Grant, text string, args ...any) error {
	done, err := l.exec(ctx, text, args...)
	if err == nil {
		var rows int64
		if rows, err = done.RowsAffected(); err == nil && rows == 0 {
			err = clients.ErrNotHeld
		}
	}
	if err != nil {
		return fmt.Errorf("mariadb-table: %s %s: %w", what, g.Key, err)
	}
	return nil
}

// Close ends the connections. A grant that was not released ends with its lease.
func (l *tableLock) Close() error { return l.db.Close() }

// lookTable counts the holder of a lease.
func lookTable(ctx context.Context, o clients.Options, key string) (int, error) {
	n, err := look(ctx, o, "SELECT COUNT(*) FROM picklock.lease WHERE name = ? AND ends > NOW(6)", key)
	if undefined(err) {
		return 0, nil
	}
	return n, err
}
