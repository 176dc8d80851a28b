package postgres

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgSession is one session. A goroutine reads from it while it is idle: the server announces
// the end of a session, and TCP reports a connection that broke. One goroutine at a time uses
// it.
type pgSession struct {
	conn    *pgconn.PgConn
	resting chan struct{} // closes when the idle reader has ended; nil without one
	lost    chan struct{} // closes when the session is known to have ended

	mu  sync.Mutex
	err error // how it ended
}

// rest starts the idle reader, which wake ends.
func (s *pgSession) rest() {
	if s.over() {
		return
	}
	if s.conn.IsClosed() {
		s.end(pgconn.ErrConnClosed)
		return
	}
	resting := make(chan struct{})
	s.resting = resting
	go func() {
		defer close(resting)
		for {
			err := s.conn.WaitForNotification(context.Background())
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return // wake
			}
			if err != nil {
				s.end(err)
				return
			}
		}
	}()
}

// wake ends the idle reader. An error means that the session has ended.
func (s *pgSession) wake() error {
	if s.resting != nil {
		// The deadline wakes it without an end of the connection. (A cancelled context
		// would have the server cancel what it is doing, which is nothing.)
		_ = s.conn.Conn().SetReadDeadline(time.Unix(1, 0)) // on a broken one it has woken
		<-s.resting
		s.resting = nil
		_ = s.conn.Conn().SetReadDeadline(time.Time{})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return pgUnsent{s.err}
	}
	return nil
}

// pgUnsent is the error of a statement that was not sent because the session has ended.
type pgUnsent struct{ error }

func (e pgUnsent) Error() string   { return "the session has ended: " + e.error.Error() }
func (e pgUnsent) Unwrap() error   { return e.error }
func (pgUnsent) SafeToRetry() bool { return true } // as pgconn's own errors say it

// end notes how the session ended.
func (s *pgSession) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.lost)
	}
}

// over says whether the session is known to have ended.
func (s *pgSession) over() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// close ends the session, with a message to the server if that can be sent.
func (s *pgSession) close() {
	_ = s.wake() // ended or not, it is closed
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)     // the socket is closed in any case
	_ = s.conn.Conn().Close() // after an error the library closes it later
	s.end(pgconn.ErrConnClosed)
}

// query runs one statement, in a transaction of its own unless one is open, and returns
// its rows and its tag. Arguments are text.
func (s *pgSession) query(ctx context.Context, sql string, args ...string) ([][]string, string, error) {
	if err := s.wake(); err != nil {
		return nil, "", err
	}
	defer s.rest()
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	// One round trip without a named statement, as poolers want it.
	r := s.conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if r.Err != nil {
		s.failed(r.Err)
		return nil, "", r.Err
	}
	rows := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, v := range row {
			rows[i] = append(rows[i], string(v))
		}
	}
	return rows, r.CommandTag.String(), nil
}

// value is query for one value; "" if there is no row.
func (s *pgSession) value(ctx context.Context, sql string, args ...string) (string, error) {
	rows, _, err := s.query(ctx, sql, args...)
	if err != nil || len(rows) == 0 || len(rows[0]) == 0 {
		return "", err
	}
	return rows[0][0], nil
}

// script runs statements without arguments as one transaction.
func (s *pgSession) script(ctx context.Context, sql string) error {
	if err := s.wake(); err != nil {
		return err
	}
	defer s.rest()
	_, err := s.conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		s.failed(err)
	}
	return err
}

// failed notes the end of a session whose statement's error says so.
func (s *pgSession) failed(err error) {
	if s.conn.IsClosed() {
		s.end(err)
	}
}

// pgCode is the SQLSTATE of the server's own error, "" if it is none.
func pgCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// pgEnded says whether an error is the server's statement that it ended the session, and with
// it all locks that it held.
func pgEnded(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC")
}

// pgDoubt says that a statement that failed with err may have been carried out: it was
// sent, and the server did not refuse it. A session that the server ends may have
// committed before.
func pgDoubt(err error) bool {
	return err != nil && !pgconn.SafeToRetry(err) && (pgCode(err) == "" || pgEnded(err))
}
