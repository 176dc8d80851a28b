package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

// kvLock is a key that a holder creates and deletes. The key's revision, which counts the messages of the bucket's
// stream, is the token of the grant that created it. How the lease ends is the recipe's: see bucketLease and keyLease.
type kvLock struct {
	recipe
	options clients.Options
	conn    *nats.Conn
	js      jetstream.JetStream

	mu sync.Mutex
	kv jetstream.KeyValue // nil until it was found or made, and after the server has lost it
}

// recipe is how a lock has its leases end.
type recipe struct {
	name   string
	bucket func(clients.Options) jetstream.KeyValueConfig
	create func(clients.Options) []jetstream.KVCreateOpt
}

// hold is a grant's Ref.
type hold struct {
	owner string

	mu       sync.Mutex
	revision uint64 // of the key, as far as this client knows
}

var errHeld = errors.New("held by another client")

func (r recipe) open(_ context.Context, o clients.Options) (clients.Lock, error) {
	if len(o.Servers) == 0 {
		return nil, fmt.Errorf("%s: no servers given", r.name)
	}
	conn, err := connect(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return &kvLock{recipe: r, options: o, conn: conn, js: js}, nil
}

// Acquire asks until the key could be created.
func (l *kvLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var last error
	for {
		g, err := l.try(ctx, key)
		switch {
		case err == nil:
			return g, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("%s: acquire %s: %w", l.name, key, err)
		case errors.Is(err, errHeld):
			last = nil
			l.options.TellWaiting()
		default:
			last = err
		}
		if !adapter.Pause(ctx, l.options.TTL/10) {
			return clients.Grant{}, adapter.Timeout(ctx, l.name, key, last)
		}
	}
}

func (l *kvLock) try(ctx context.Context, key string) (clients.Grant, error) {
	grace, cancel := adapter.WithGrace(ctx, l.options.TTL)
	defer cancel()
	grace, done := context.WithTimeout(grace, l.answerWithin())
	defer done()
	kv, err := l.bucketNow(grace)
	if err != nil {
		return clients.Grant{}, err
	}
	h := &hold{owner: rand.Text()}
	since := history.Now()
	h.revision, err = kv.Create(grace, key, []byte(h.owner), l.create(l.options)...)
	switch {
	case errors.Is(err, jetstream.ErrKeyExists):
		return clients.Grant{}, errHeld
	case err != nil:
		return clients.Grant{}, l.outcome(err)
	}
	return clients.Grant{Key: key, Token: int64(h.revision), Since: since, Lease: l.options.TTL, Ref: h}, nil
}

// answerWithin is how long a request waits for its answer. One whose connection breaks has none: the client does not send
// it again, and does not end it.
func (l *kvLock) answerWithin() time.Duration { return max(l.options.TTL, 500*time.Millisecond) }

// Release deletes the key, if it is still this grant's.
func (l *kvLock) Release(ctx context.Context, g clients.Grant) error {
	return l.change(ctx, "release", g, func(ctx context.Context, kv jetstream.KeyValue, h *hold) error {
		return kv.Delete(ctx, g.Key, jetstream.LastRevision(h.revision))
	})
}

// Renew writes the key anew, if it is still this grant's.
func (l *kvLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	var since int64
	err := l.change(ctx, "renew", g, func(ctx context.Context, kv jetstream.KeyValue, h *hold) error {
		since = history.Now()
		revision, err := kv.Update(ctx, g.Key, []byte(h.owner), h.revision)
		if err == nil {
			h.revision = revision
		}
		return err
	})
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: since, Lease: l.options.TTL}, nil
}

// change does something to the key at the revision that the grant is known to have. Where it has another one, the key is
// read: an earlier renewal may have taken effect without an answer.
func (l *kvLock) change(ctx context.Context, what string, g clients.Grant, do func(context.Context, jetstream.KeyValue, *hold) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.answerWithin())
	defer cancel()
	kv, err := l.bucketNow(ctx)
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", l.name, what, g.Key, err)
	}
	h := g.Ref.(*hold)
	h.mu.Lock()
	defer h.mu.Unlock()
	// A connection that is being made anew sends nothing.
	for err = do(ctx, kv, h); notSent(err) && adapter.Pause(ctx, l.options.TTL/10); {
		err = do(ctx, kv, h)
	}
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		var entry jetstream.KeyValueEntry
		entry, err = kv.Get(ctx, g.Key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound), err == nil && string(entry.Value()) != h.owner:
			return fmt.Errorf("%s: %s %s: %w", l.name, what, g.Key, clients.ErrNotHeld)
		case err == nil:
			h.revision = entry.Revision()
			err = do(ctx, kv, h)
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		err = clients.ErrNotHeld
	case err != nil:
		err = l.outcome(err)
	}
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", l.name, what, g.Key, err)
	}
	return nil
}

// bucketNow finds the bucket, or makes it.
func (l *kvLock) bucketNow(ctx context.Context) (jetstream.KeyValue, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kv != nil {
		return l.kv, nil
	}
	kv, err := l.js.CreateOrUpdateKeyValue(ctx, l.bucket(l.options))
	if err != nil {
		return nil, fmt.Errorf("make the bucket: %w", err)
	}
	l.kv = kv
	return kv, nil
}

// outcome says of an error whether the request may have taken effect: what the server refused, and what was not sent, has
// not. A server that has no such bucket has lost it; the next request makes it again.
func (l *kvLock) outcome(err error) error {
	var said *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		l.mu.Lock()
		l.kv = nil
		l.mu.Unlock()
		return err
	case errors.As(err, &said), notSent(err):
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrUnknown, err)
}

// notSent says that the client had no connection for the request.
func notSent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting)
}

// Close ends the connection. A grant that was not released ends with its lease.
func (l *kvLock) Close() error {
	l.conn.Close()
	return nil
}

// look counts the holder of a key.
func (r recipe) look(ctx context.Context, o clients.Options, key string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, adapter.InspectWithin)
	defer cancel()
	n := 0
	err := withAdmin(o, func(a admin) error {
		kv, err := a.KeyValue(ctx, r.bucket(o).Bucket)
		if err != nil {
			return err
		}
		if _, err = kv.Get(ctx, key); err == nil {
			n = 1
		}
		return err
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	return n, err
}

// bucketOf is a bucket's name for leases of that length.
func bucketOf(name string, lease time.Duration) string {
	return fmt.Sprintf("%s_%d", name, lease.Milliseconds())
}
