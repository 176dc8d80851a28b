package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func postgresTableInfo() clients.Info {
	return clients.Info{
		Name:      "postgres-table",
		About:     "Postgres: a table of leases judged by the server's clock, and a token from a sequence",
		Cluster:   "postgres",
		Fencing:   true,
		Confirms:  true, // every statement compares owner, token and time
		OwnLeases: true,
		MinTTL:    10 * time.Millisecond,
		Inspect:   lookPgLease,
		Options:   []clients.Option{pgClock, pgTransaction, pgKeepalive},
		Open:      openPostgres("postgres-table", false, newPgTableLock),
	}
}

// pgTableLock is a row with an owner and an expiry. The row is never
// deleted: where one statement finds no row to update and inserts it, a token that it
// drew before another's grant would come after that one's.
//
// The lease is counted from when the statement that took it was sent. That is right for
// clock_timestamp(), and for now() in a statement of its own. In a transaction that was
// begun before, as most database libraries have it, now() is when that began: the lease
// ends earlier than its holder thinks. transaction=begun with clock=now is that recipe.
type pgTableLock struct {
	*postgres
	begun              bool // in a transaction that was begun before
	take, renew, clear string
}

var (
	parseClock       = adapter.OneOf("clock_timestamp", "now")
	parseTransaction = adapter.OneOf("own", "begun")

	pgClock = clients.Option{
		Name: "clock", Default: "clock_timestamp", Check: adapter.Checks(parseClock), Safer: []string{"clock_timestamp"},
		About: "the server's function that judges the lease: clock_timestamp, or now, which is constant in a transaction",
	}
	pgTransaction = clients.Option{
		Name: "transaction", Default: "own", Check: adapter.Checks(parseTransaction), Safer: []string{"own"},
		About: "acquire in a transaction of its own, or in one that was begun before; with clock=now the lease is then shorter than its holder thinks",
	}
)

// The statements, where CLOCK stands for the function that tells the time.
const (
	pgTake = `INSERT INTO picklock_lease AS l (key, owner, token, expires_at)
		VALUES ($1, $2, nextval('picklock_token'), CLOCK + $3::interval)
		ON CONFLICT (key) DO UPDATE SET owner = $2, token = nextval('picklock_token'), expires_at = CLOCK + $3::interval
		WHERE l.expires_at <= CLOCK RETURNING token`
	pgRenew = `UPDATE picklock_lease SET expires_at = CLOCK + $4::interval
		WHERE key = $1 AND owner = $2 AND token = $3 AND expires_at > CLOCK`
	pgClear = `UPDATE picklock_lease SET expires_at = '-infinity'
		WHERE key = $1 AND owner = $2 AND token = $3 AND expires_at > CLOCK`
)

func newPgTableLock(p *postgres) (clients.Lock, error) {
	l := pgTableLock{postgres: p}
	clock, err := adapter.Read(p.options, pgClock.Name, pgClock.Default, parseClock)
	if err != nil {
		return nil, fmt.Errorf("postgres-table: %w", err)
	}
	transaction, err := adapter.Read(p.options, pgTransaction.Name, pgTransaction.Default, parseTransaction)
	if err != nil {
		return nil, fmt.Errorf("postgres-table: %w", err)
	}
	l.begun = transaction == "begun"
	for text, to := range map[string]*string{pgTake: &l.take, pgRenew: &l.renew, pgClear: &l.clear} {
		*to = strings.ReplaceAll(text, "CLOCK", clock+"()")
	}
	return l, nil
}

// Acquire asks until the lease is over.
func (l pgTableLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context, s *pgSession) (clients.Grant, error) {
		grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
		defer cancel()
		if l.begun {
			if err := l.begin(ctx, s); err != nil {
				return clients.Grant{}, err
			}
		}
		owner := rand.Text()
		since := history.Now()
		text, err := s.value(grace, l.take, key, owner, pgInterval(l.options.TTL))
		// A transaction that is not committed has no effect.
		doubt := pgDoubt(err) && !l.begun
		if l.begun && err == nil && text != "" {
			_, _, err = s.query(grace, "COMMIT")
			doubt = pgDoubt(err)
		}
		switch {
		case doubt:
			l.drop(s)
			return clients.Grant{}, fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		case l.begun && (err != nil || text == ""):
			if _, _, rerr := s.query(grace, "ROLLBACK"); err == nil {
				err = rerr
			}
		}
		l.free(s)
		if err != nil {
			return clients.Grant{}, err
		}
		if text == "" {
			return clients.Grant{}, errPgHeld
		}
		token, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return clients.Grant{}, fmt.Errorf("%w: read the token: %w", clients.ErrUnknown, err)
		}
		return clients.Grant{Token: token, Since: since, Lease: l.options.TTL, Ref: owner}, nil
	})
}

func pgInterval(d time.Duration) string { return fmt.Sprintf("%d microseconds", d.Microseconds()) }

// Release frees the row, if it is still this grant's.
func (l pgTableLock) Release(ctx context.Context, g clients.Grant) error {
	return l.update(ctx, "release", g, l.clear)
}

// Renew moves the lease's end, if it is not over yet.
func (l pgTableLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	since := history.Now()
	if err := l.update(ctx, "renew", g, l.renew, pgInterval(l.options.TTL)); err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: since, Lease: l.options.TTL}, nil
}

// update runs a statement on the grant's row.
func (l pgTableLock) update(ctx context.Context, what string, g clients.Grant, sql string, args ...string) error {
	s, err := l.session(ctx)
	if err != nil {
		return fmt.Errorf("postgres-table: %s %s: %w", what, g.Key, err)
	}
	_, tag, err := s.query(ctx, sql, append([]string{g.Key, g.Ref.(string), strconv.FormatInt(g.Token, 10)}, args...)...)
	switch {
	case pgDoubt(err):
		l.drop(s)
		return fmt.Errorf("postgres-table: %s %s: %w: %w", what, g.Key, clients.ErrUnknown, err)
	case err == nil && tag != "UPDATE 1":
		err = clients.ErrNotHeld
	}
	l.free(s)
	if err != nil {
		return fmt.Errorf("postgres-table: %s %s: %w", what, g.Key, err)
	}
	return nil
}
