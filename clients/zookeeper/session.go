package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// zkSession is one session on a connection of its own. The library would go on with a new session
// after the old one expired; a zkSession ends there.
type zkSession struct {
	options clients.Options
	herd    bool
	ttl     time.Duration
	conn    *zk.Conn
	events  <-chan zk.Event // closes when the library's last goroutine ends
	group   sync.WaitGroup  // calls, also those whose result is no longer awaited
	lost    chan struct{}   // closes when the service reports that the session expired

	mu     sync.Mutex
	wire   net.Conn // the connection in use
	closed bool
	cancel context.CancelFunc // of dialing
}

// session returns the session in use or makes one, connected.
func (l *zkLock) session(ctx context.Context) (*zkSession, error) {
	l.mu.Lock()
	s := l.current
	l.mu.Unlock()
	if s != nil && s.gone() {
		l.giveUp(s)
		s = nil
	}
	if s == nil {
		var err error
		if s, err = newZKSession(l.options, false); err != nil {
			return nil, err
		}
		s.herd = l.herd
		l.mu.Lock()
		l.current = s
		l.mu.Unlock()
	}
	return s, s.connected(ctx)
}

// newZKSession connects; shipped leaves the library its own timeouts.
func newZKSession(o clients.Options, shipped bool) (*zkSession, error) {
	if err := checkLogin(o); err != nil {
		return nil, err
	}
	dialing, cancel := context.WithCancel(context.Background())
	s := &zkSession{options: o, ttl: o.TTL, lost: make(chan struct{}), cancel: cancel}
	// One dead server must not use up the session's time.
	patience := min(max(o.TTL/time.Duration(len(o.Servers)+1), 100*time.Millisecond), time.Second)
	connect := func(network, addr string, usual time.Duration) (net.Conn, error) {
		within := patience
		if shipped {
			within = usual
		}
		c, err := o.Dial(dialing, network, addr, within)
		if err != nil {
			return nil, err
		}
		if !shipped {
			c = &zkConn{Conn: c, patience: patience}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			c.Close()
		}
		s.wire = c
		return c, nil
	}
	var expired sync.Once
	var err error
	s.conn, s.events, err = zk.Connect(o.Servers, o.TTL,
		zk.WithDialer(connect), zk.WithLogInfo(false), zk.WithLogger(zkLog{o.Log}),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateExpired {
				expired.Do(func() { close(s.lost) })
			}
		}))
	if err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

// zkConn bounds the wait for a server's greeting, for which the library allows
// nearly seven session timeouts: a server that is stopped, or not yet up, still
// accepts connections.
type zkConn struct {
	net.Conn
	patience time.Duration
	greeted  bool
}

// SetReadDeadline is first called for the greeting.
func (c *zkConn) SetReadDeadline(t time.Time) error {
	if !c.greeted {
		c.greeted = true
		t = time.Now().Add(c.patience)
	}
	return c.Conn.SetReadDeadline(t)
}

type zkLog struct{ log *slog.Logger }

func (l zkLog) Printf(format string, args ...any) { l.log.Debug("zk: " + fmt.Sprintf(format, args...)) }

// giveUp gives up a session: it is closed if the service can be reached, else it expires.
func (l *zkLock) giveUp(s *zkSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == s {
		l.current = nil
	}
	l.group.Go(s.close)
}

// Close gives the session up and waits for those given up before, a few seconds
// at most.
func (l *zkLock) Close() error {
	l.mu.Lock()
	s := l.current
	l.mu.Unlock()
	if s != nil {
		l.giveUp(s)
	}
	l.group.Wait()
	return nil
}

func (s *zkSession) close() {
	if s.conn.State() != zk.StateHasSession {
		s.hangUp() // no server to close the session, and the library would wait
	}
	s.conn.Close()
	s.hangUp()
	for range s.events {
	}
	s.group.Wait()
}

func (s *zkSession) hangUp() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.wire != nil {
		s.wire.Close()
	}
}

// gone says whether the service ended the session.
func (s *zkSession) gone() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// connected waits for a connection, so that a request is not queued unsent.
func (s *zkSession) connected(ctx context.Context) error {
	for s.conn.State() != zk.StateHasSession {
		if s.gone() {
			return errGone
		}
		if !adapter.Pause(ctx, 0) {
			return ctx.Err()
		}
	}
	return nil
}

// zkDo ends a call with ctx, which the library's calls do not take. The call goes on then, and may
// have its effect.
func zkDo[T any](ctx context.Context, s *zkSession, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	s.mu.Lock()
	if s.closed {
		done <- result{err: zk.ErrClosing}
	} else {
		s.group.Go(func() {
			v, err := call()
			done <- result{v, err}
		})
	}
	s.mu.Unlock()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return result{}.value, ctx.Err()
	}
}

// lostReply says whether the request that err ended may have had an effect.
func lostReply(err error) bool {
	for _, refused := range []error{zk.ErrNoServer, zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrInvalidACL} {
		if errors.Is(err, refused) {
			return false
		}
	}
	return true
}

func (s *zkSession) create(ctx context.Context, node string, flags int32) (string, error) {
	return zkDo(ctx, s, func() (string, error) {
		return s.conn.Create(node, nil, flags, zk.WorldACL(zk.PermAll))
	})
}

func (s *zkSession) delete(ctx context.Context, node string) error {
	_, err := zkDo(ctx, s, func() (any, error) { return nil, s.conn.Delete(node, -1) })
	return err
}

func (s *zkSession) stat(ctx context.Context, node string) (*zk.Stat, error) {
	return zkDo(ctx, s, func() (*zk.Stat, error) {
		there, stat, err := s.conn.Exists(node)
		if err == nil && !there {
			err = zk.ErrNoNode
		}
		return stat, err
	})
}

func (s *zkSession) children(ctx context.Context, node string) ([]string, error) {
	return zkDo(ctx, s, func() ([]string, error) {
		nodes, _, err := s.conn.Children(node)
		return nodes, err
	})
}

// enqueue creates the client's node. Its name has a random part, by which the client finds it again
// if the answer was lost with its connection.
func (s *zkSession) enqueue(ctx context.Context, root string) (string, error) {
	for _, p := range []string{path.Dir(root), root} {
		if _, err := s.create(ctx, p, 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return "", err
		}
	}
	name := "_c_" + rand.Text() + "-lock-"
	for {
		own, err := s.create(ctx, root+"/"+name, zk.FlagEphemeral|zk.FlagSequence)
		switch {
		case s.gone():
			return "", errGone // perhaps created, but in a session that has ended
		case err == nil:
			return own, nil
		case !lostReply(err):
			return "", err
		}
		// Once connected anew and synced, the client sees the node if it was created. If it
		// was not, it never will be: the leader refuses requests from an old connection of
		// a session that has moved.
		nodes, err := s.syncedChildren(ctx, root)
		if errors.Is(err, errGone) {
			return "", err
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", clients.ErrUnknown, err)
		}
		if i := slices.IndexFunc(nodes, func(n string) bool { return strings.HasPrefix(n, name) }); i >= 0 {
			return root + "/" + nodes[i], nil
		}
	}
}

// syncedChildren lists the children as the leader has them, however many
// connections that takes.
func (s *zkSession) syncedChildren(ctx context.Context, node string) ([]string, error) {
	for {
		if err := s.connected(ctx); err != nil {
			return nil, err
		}
		nodes, err := zkDo(ctx, s, func() ([]string, error) {
			if _, err := s.conn.Sync(node); err != nil {
				return nil, err
			}
			nodes, _, err := s.conn.Children(node)
			return nodes, err
		})
		if err == nil || errors.Is(err, zk.ErrNoNode) || !adapter.Pause(ctx, s.ttl/10) {
			return nodes, err
		}
	}
}

// awaitTurn waits until the line before the client has changed.
func (s *zkSession) awaitTurn(ctx context.Context, root, before string) error {
	if s.herd {
		return s.awaitChange(ctx, root, before)
	}
	return s.awaitDeleted(ctx, root+"/"+before)
}

// awaitDeleted waits until node is gone, or something happened that may hide it.
// It reads the node, because the watch of Exists would stay for ever if the node is gone already.
func (s *zkSession) awaitDeleted(ctx context.Context, node string) error {
	event, err := zkDo(ctx, s, func() (<-chan zk.Event, error) {
		_, _, event, err := s.conn.GetW(node)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		return event, err
	})
	if err != nil || event == nil {
		return err
	}
	s.options.TellWaiting()
	select {
	case e := <-event:
		if e.Type == zk.EventNodeDeleted {
			s.options.TellWoken()
		}
	case <-s.lost:
	case <-ctx.Done():
	}
	return ctx.Err()
}
