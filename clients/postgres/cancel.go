package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgCancel handles a statement whose context ends: it asks the server to cancel the statement,
// and waits a grace for its outcome, which would be unknown otherwise. It
// implements ctxwatch.Handler.
//
// The library's own handler closes its connection when the statement has ended, before the
// server has carried out the request. A late request may then cancel the next statement, and
// PgBouncer 1.18 crashes (https://github.com/pgbouncer/pgbouncer/issues/801). This one
// waits until the server closes the connection, which it does after it has sent the signal.
type pgCancel struct {
	conn  *pgconn.PgConn
	grace time.Duration
	done  chan struct{}
}

// HandleCancel is called when the context has ended.
func (c *pgCancel) HandleCancel(context.Context) {
	c.done = make(chan struct{})
	end := time.Now().Add(c.grace)
	_ = c.conn.Conn().SetDeadline(end) // on a broken connection the statement ends by itself
	go func() {                        //nolint:gosec // the statement's context has ended: that is why it is cancelled
		defer close(c.done)
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		_ = c.conn.CancelRequest(ctx) // undelivered, the deadline ends the statement
	}()
}

// HandleUnwatchAfterCancel is called when the statement has ended.
func (c *pgCancel) HandleUnwatchAfterCancel() {
	<-c.done
	_ = c.conn.Conn().SetDeadline(time.Time{}) // as above
}
