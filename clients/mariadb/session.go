package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func sessionInfo() clients.Info {
	return clients.Info{
		Name:     "mariadb-session",
		About:    "MariaDB: GET_LOCK, held by a connection that the server ends when it was silent for as long as wait_timeout says",
		Cluster:  "mariadb",
		Confirms: true, // RELEASE_LOCK answers whether the connection had it
		Holds:    true,
		MinTTL:   time.Second,
		Options:  []clients.Option{keepalive},
		Inspect:  lookSession,
		Open:     openSession,
	}
}

var (
	parseKeepalive = adapter.OneOf("ttl", "system")

	keepalive = clients.Option{
		Name: "keepalive", Default: "ttl", Check: adapter.Checks(parseKeepalive), Safer: []string{"ttl"},
		About: "when the server ends a silent connection, and its lock is free: ttl (wait_timeout is the TTL, and the holder asks three times as often) or system (the server's own time, eight hours)",
	}
)

// sessionLock is a lock of https://mariadb.com/kb/en/get_lock/. It lasts as long as the connection, which has no promised
// time. Each grant has a connection of its own: one connection could take its lock twice.
type sessionLock struct {
	options clients.Options
	db      *sql.DB
	ctx     context.Context // ends with the lock
	end     context.CancelFunc
	group   sync.WaitGroup
}

// session is a grant's Ref.
type session struct {
	conn *sql.Conn
	lost chan struct{} // closed when the connection has failed
	over context.CancelFunc
	turn sync.Mutex // the connection does one statement at a time
}

// lookSession counts the holder of a lock.
func lookSession(ctx context.Context, o clients.Options, key string) (int, error) {
	return look(ctx, o, "SELECT IS_USED_LOCK(?) IS NOT NULL", key)
}

func openSession(_ context.Context, o clients.Options) (clients.Lock, error) {
	keeps, err := adapter.Read(o, keepalive.Name, keepalive.Default, parseKeepalive)
	if err != nil {
		return nil, fmt.Errorf("mariadb-session: %w", err)
	}
	params := map[string]string{}
	if keeps == "ttl" {
		params["wait_timeout"] = strconv.Itoa(int(math.Ceil(o.TTL.Seconds())))
	}
	db, err := connect(o, params)
	if err != nil {
		return nil, fmt.Errorf("mariadb-session: %w", err)
	}
	db.SetMaxIdleConns(0) // the server would end one that is kept
	l := &sessionLock{options: o, db: db}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l, nil
}

// Acquire queues up at the server when the lock is held.
func (l *sessionLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for ctx.Err() == nil {
		conn, err := connection(ctx, l.db, l.options)
		if err == nil {
			if err = l.lock(ctx, conn, key); err == nil {
				s := l.keep(conn)
				return clients.Grant{Key: key, Lost: s.lost, Ref: s}, nil
			}
			conn.Close()
		}
		switch {
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("mariadb-session: acquire %s: %w", key, err)
		case errors.Is(err, errHeld):
			last = nil
		case ctx.Err() == nil:
			last = err
		}
		adapter.Pause(ctx, l.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "mariadb-session", key, last)
}

var errHeld = errors.New("held by another")

// lock acquires the lock for the connection, at once or after a wait. An error is definite unless it wraps ErrUnknown.
func (l *sessionLock) lock(ctx context.Context, conn *sql.Conn, key string) error {
	const getLock = "SELECT COALESCE(GET_LOCK(?, ?), -1)"
	grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
	defer cancel()
	got, err := ask(grace, answerWithin(l.options), conn, getLock, key, 0)
	for err == nil && got == 0 {
		l.options.TellWaiting()
		// It is the server that ends the wait, so that the outcome is known. A server that has gone is noticed by its silence.
		wait := min(l.options.TTL, remaining(ctx, l.options.TTL))
		if wait <= 0 || ctx.Err() != nil {
			return errHeld
		}
		got, err = ask(grace, wait+answerWithin(l.options), conn, getLock, key, wait.Seconds())
	}
	if err == nil && got < 0 {
		err = errors.New("GET_LOCK failed")
	}
	return err
}

// remaining is how long ctx lasts; otherwise if it has no end.
func remaining(ctx context.Context, otherwise time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end)
	}
	return otherwise
}

// ask has the connection evaluate an expression that is a number.
func ask(ctx context.Context, within time.Duration, conn *sql.Conn, query string, args ...any) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = conn.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, outcome(err)
}

// keep has a holder's connection speak, until it fails or the grant is over.
func (l *sessionLock) keep(conn *sql.Conn) *session {
	ctx, cancel := context.WithCancel(l.ctx)
	s := &session{conn: conn, lost: make(chan struct{}), over: cancel}
	l.group.Go(func() {
		defer close(s.lost)
		defer conn.Close()
		every := time.NewTicker(l.options.TTL / 3)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if _, err := s.ask(ctx, l.options.TTL/2, "SELECT 1"); err != nil {
				return
			}
		}
	})
	return s
}

func (s *session) ask(ctx context.Context, within time.Duration, query string, args ...any) (int, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	return ask(ctx, within, s.conn, query, args...)
}

// Release gives the lock back and ends its connection.
func (l *sessionLock) Release(ctx context.Context, g clients.Grant) error {
	s := g.Ref.(*session)
	got, err := s.ask(ctx, answerWithin(l.options), "SELECT COALESCE(RELEASE_LOCK(?), 0)", g.Key)
	if err == nil && got == 0 || errors.Is(err, sql.ErrConnDone) {
		err = clients.ErrNotHeld
	}
	s.over()
	<-s.lost
	if err != nil {
		return fmt.Errorf("mariadb-session: release %s: %w", g.Key, err)
	}
	return nil
}

// Holds implements clients.Holder.
func (l *sessionLock) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	got, err := g.Ref.(*session).ask(ctx, answerWithin(l.options), "SELECT COALESCE(IS_USED_LOCK(?) = CONNECTION_ID(), 0)", g.Key)
	if errors.Is(err, sql.ErrConnDone) {
		return false, nil // and with the connection the lock
	}
	return err == nil && got == 1, err
}

// Close ends all connections, and with them what they hold.
func (l *sessionLock) Close() error {
	l.end()
	l.group.Wait()
	return l.db.Close()
}
