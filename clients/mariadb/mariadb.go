package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// connect makes a client's access to a server, for all its connections. params are variables that each of them sets.
func connect(o clients.Options, params map[string]string) (*sql.DB, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("no server given")
	}
	patience := min(max(o.TTL, 500*time.Millisecond), 2*time.Second)
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User = "tcp", o.Servers[0], "root"
	c.InterpolateParams = true // one message for a statement, not three
	c.Params = params
	c.Logger = log.New(io.Discard, "", 0) // it logs every connection that a fault breaks
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{Timeout: patience}).DialContext(ctx, network, addr)
	}
	if o.External != nil {
		username, password, err := o.Login()
		if err != nil {
			return nil, err
		}
		c.User, c.Passwd = cmp.Or(username, c.User), password
		if c.TLS, err = o.TLS(o.Servers[0]); err != nil {
			return nil, err
		}
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(4)
	return db, nil
}

// connection is one for a statement, or for as long as a grant. If it fails, no statement was sent.
func connection(ctx context.Context, db *sql.DB, o clients.Options) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin(o))
	defer cancel()
	return db.Conn(ctx)
}

// answerWithin is how long a statement that does not wait may take.
func answerWithin(o clients.Options) time.Duration { return max(o.TTL, 500*time.Millisecond) }

// outcome says of an error whether the statement may have taken effect: what the server refused, and what was not sent, has
// not.
func outcome(err error) error {
	var said *mysql.MySQLError
	if err == nil || errors.As(err, &said) || errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
}

// The errors of MariaDB that the locks know, https://mariadb.com/kb/en/mariadb-error-codes/.
const (
	noDatabase = 1049
	noTable    = 1146
	deadlock   = 1213
)

// says that the server has answered with one of these errors.
func says(err error, codes ...uint16) bool {
	var said *mysql.MySQLError
	if !errors.As(err, &said) {
		return false
	}
	return slices.Contains(codes, said.Number)
}

// look has a server evaluate an expression about a key that is a number.
func look(ctx context.Context, o clients.Options, query, key string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, adapter.InspectWithin)
	defer cancel()
	db, err := connect(o, nil)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var n int
	err = db.QueryRowContext(ctx, query, key).Scan(&n)
	return n, err
}
