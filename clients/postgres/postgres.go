package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// postgres is one client's access to a Postgres server, for all kinds of lock there. It keeps
// idle sessions that hold nothing for later.
type postgres struct {
	name    string // of the lock
	options clients.Options
	config  *pgconn.Config
	group   sync.WaitGroup // sessions being closed

	mu       sync.Mutex
	sessions map[*pgSession]bool // true: it holds nothing
	closed   bool
}

// openPostgres opens a lock on the server that takes writes, or, behind a pooler, on
// whatever that one is connected to.
func openPostgres(name string, pooler bool, wrap func(*postgres) (clients.Lock, error)) func(context.Context, clients.Options) (clients.Lock, error) {
	return func(_ context.Context, o clients.Options) (clients.Lock, error) {
		if len(o.Servers) == 0 {
			return nil, fmt.Errorf("%s: no server given", name)
		}
		if pooler {
			o.Servers = o.Servers[:1]
		}
		config, err := pgConfig(o, pooler)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return wrap(&postgres{name: name, options: o, config: config, sessions: map[*pgSession]bool{}})
	}
}

// pgKeepalive is the option of the locks that last as long as a connection.
var pgKeepalive = clients.Option{
	Name: "keepalive", Default: "ttl", Check: adapter.Checks(parseKeepalive), Safer: []string{"ttl"},
	About: "when a silent peer is given up, and its lock free: ttl (after about a TTL) or system (the systems' own times, two hours on most)",
}

var parseKeepalive = adapter.OneOf("ttl", "system")

// pgConfig is how a session is made. Both sides give up a silent peer after about a TTL, two
// seconds at least, because TCP probes at most once a second: that is what the TTL of a lock
// without a lease means.
func pgConfig(o clients.Options, pooler bool) (*pgconn.Config, error) {
	var hosts, ports []string
	for _, addr := range o.Servers {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	text := fmt.Sprintf("host=%s port=%s user=postgres database=postgres sslmode=disable", strings.Join(hosts, ","), strings.Join(ports, ","))
	wanted := "any"
	if len(hosts) > 1 {
		wanted = "read-write"
	}
	// These settings override this machine's environment.
	c, err := pgconn.ParseConfig(text + " target_session_attrs=" + wanted)
	if err != nil {
		return nil, err
	}
	patience := min(max(o.TTL, 500*time.Millisecond), 2*time.Second)
	dialer := net.Dialer{Timeout: patience}
	c.RuntimeParams = map[string]string{}
	probe := max((o.TTL / 2).Truncate(time.Second), time.Second)
	keepalive, err := adapter.Read(o, pgKeepalive.Name, pgKeepalive.Default, parseKeepalive)
	switch {
	case err != nil:
		return nil, err
	case keepalive == "system":
		dialer.KeepAlive = -1
	default:
		dialer.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: probe, Interval: probe, Count: 1}
		if !pooler { // which takes no such settings from its clients
			seconds := fmt.Sprint(int(probe.Seconds()))
			c.RuntimeParams["tcp_keepalives_idle"], c.RuntimeParams["tcp_keepalives_interval"] = seconds, seconds
			c.RuntimeParams["tcp_keepalives_count"] = "1"
			c.RuntimeParams["tcp_user_timeout"] = fmt.Sprint(probe.Milliseconds())
		}
	}
	c.ConnectTimeout, c.DialFunc = patience, dialer.DialContext
	if err := reach(c, o); err != nil {
		return nil, err
	}
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgCancel{conn: conn, grace: min(max(o.TTL/2, 250*time.Millisecond), time.Second)}
	}
	return c, nil
}

// session returns a session that holds nothing, a new one if there is none.
func (p *postgres) session(ctx context.Context) (*pgSession, error) {
	p.mu.Lock()
	for s, free := range p.sessions {
		if free && !s.over() {
			p.sessions[s] = false
			p.mu.Unlock()
			return s, nil
		}
	}
	p.mu.Unlock()
	conn, err := pgconn.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, err
	}
	s := &pgSession{conn: conn, lost: make(chan struct{})}
	s.rest()
	p.mu.Lock()
	p.sessions[s] = false
	closed := p.closed
	p.mu.Unlock()
	if closed {
		p.drop(s)
		return nil, errors.New("the lock is closed")
	}
	return s, nil
}

// pgIdle is the status of a session that is in no transaction.
const pgIdle = 'I'

// free takes a session back that holds nothing any more; one that is left in a
// transaction is ended.
func (p *postgres) free(s *pgSession) {
	if s.over() || s.conn.TxStatus() != pgIdle {
		p.drop(s)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ours := p.sessions[s]; ours {
		p.sessions[s] = true
	}
}

// drop ends a session, and with it all that it may hold as soon as the server notices.
func (p *postgres) drop(s *pgSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ours := p.sessions[s]; !ours {
		return
	}
	delete(p.sessions, s)
	p.group.Go(s.close)
}

// Close ends all sessions, a second at most.
func (p *postgres) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.sessions
	p.sessions = map[*pgSession]bool{}
	p.mu.Unlock()
	for s := range all {
		p.group.Go(s.close)
	}
	p.group.Wait()
	return nil
}

// The objects that the locks need. Clients that come at once make them one after the
// other: "if not exists" alone is no protection.
const pgSchema = `SELECT pg_advisory_xact_lock(8029763591);
CREATE SEQUENCE IF NOT EXISTS picklock_token;
CREATE TABLE IF NOT EXISTS picklock_row (key text PRIMARY KEY);
CREATE TABLE IF NOT EXISTS picklock_lease (key text PRIMARY KEY, owner text NOT NULL, token bigint NOT NULL, expires_at timestamptz NOT NULL)`

// undefined says that a statement failed for want of one of them.
func undefined(err error) bool { return pgCode(err) == "42P01" }

// setUp makes them.
func (p *postgres) setUp(ctx context.Context) error {
	s, err := p.session(ctx)
	if err != nil {
		return err
	}
	defer p.free(s)
	return s.script(ctx, pgSchema)
}

// acquire calls take with a session until its outcome is certain, or ctx ends. If take fails, it
// frees or drops the session, and its error is definite unless it wraps ErrUnknown.
func (p *postgres) acquire(ctx context.Context, key string, take func(ctx context.Context, s *pgSession) (clients.Grant, error)) (clients.Grant, error) {
	var last error
	for ctx.Err() == nil {
		s, err := p.session(ctx)
		if err == nil {
			var g clients.Grant
			if g, err = take(ctx, s); err == nil {
				g.Key = key
				return g, nil
			}
			if undefined(err) {
				if err = p.setUp(ctx); err == nil {
					continue
				}
			}
		}
		switch {
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("%s: acquire %s: %w", p.name, key, err)
		case errors.Is(err, errPgAgain):
			continue
		case errors.Is(err, errPgHeld):
			p.options.TellWaiting()
			last = nil
		case ctx.Err() == nil:
			last = err
		}
		adapter.Pause(ctx, p.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, p.name, key, last)
}

// What take returns when another holds the lock, and when it has removed an obstacle.
var (
	errPgHeld  = errors.New("held by another")
	errPgAgain = errors.New("to be tried again")
)
