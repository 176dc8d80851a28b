package s3

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

func leaseInfo() clients.Info {
	return clients.Info{
		Name:     "s3-lease",
		About:    "S3: an object that is written with If-None-Match and If-Match; a waiting client takes over an object that has not changed for a lease by its own clock",
		Cluster:  "s3",
		Fencing:  true,
		Confirms: true, // releases and renewals name the entity tag of the grant's own write
		Holds:    true,
		MinTTL:   time.Millisecond,
		Inspect:  lookLease,
		Open:     openLease("s3-lease", false),
	}
}

func deleteInfo() clients.Info {
	return clients.Info{
		Name:    "s3-delete",
		About:   "S3: the same lease without tokens, released by a DELETE without a condition, which removes any client's object",
		Cluster: "s3",
		Holds:   true,
		MinTTL:  time.Millisecond,
		Naive:   true,
		Inspect: lookLease,
		Open:    openLease("s3-delete", true),
	}
}

func openLease(name string, deletes bool) func(context.Context, clients.Options) (clients.Lock, error) {
	return func(_ context.Context, o clients.Options) (clients.Lock, error) {
		b, err := newBucket(name, o)
		if err != nil {
			return nil, err
		}
		return &lease{b, deletes}, nil
	}
}

// lease is the scheme of Amazon's lock client for DynamoDB, on an object of S3. S3 has no clock that a condition could ask.
// So the object says how long its lease is, and every write gives it another entity tag, by a random number in it. A client that
// finds it held waits for that long by its own monotonic clock, from the answer that showed it the tag. It takes over with
// If-Match. A tag that a client has seen was written before it saw it: no client can take over sooner than a lease after the
// holder sent its write, whatever the wall clocks say. A release writes that the object is free. So the object outlives its grants,
// and the counter in it is a fencing token.
type lease struct {
	*bucket
	deletes bool // a release deletes whatever is there
}

// state is the object's content.
type state struct {
	Held  bool   `json:"held"`
	Owner string `json:"owner"`
	// Write is new with every write: the entity tag is a hash of the content.
	Write   string `json:"write"`
	Token   int64  `json:"token"`
	LeaseMS int64  `json:"lease_ms"`
}

// hold is a grant's Ref.
type hold struct {
	mu   sync.Mutex
	is   state
	etag string // of the object, as far as this client knows
}

// seen is an entity tag that a waiter has seen, and the time by its own clock until which it must not take over.
type seen struct {
	etag  string
	until int64
}

// read is the object's state; ok is false if there is none.
func (l *lease) read(ctx context.Context, key string) (s state, etag string, ok bool, err error) {
	is, err := l.get(ctx, key)
	if err != nil || is.etag == "" {
		return s, "", false, err
	}
	if err := json.Unmarshal(is.body, &s); err != nil {
		return s, "", false, fmt.Errorf("read the object %s: %w", key, err)
	}
	return s, is.etag, true, nil
}

// write puts a state in place of the one with this entity tag.
func (l *lease) write(ctx context.Context, key, etag string, s state) (string, int64, error) {
	s.Write = rand.Text()
	body, err := json.Marshal(s)
	if err != nil {
		return "", 0, err
	}
	is, sent, err := l.put(ctx, key, etag, s.Write, body)
	return is.etag, sent, err
}

func (l *lease) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var before seen
	return l.acquire(ctx, key, func(ctx context.Context) (clients.Grant, error) {
		s, etag, ok, err := l.read(ctx, key)
		got := history.Now()
		if err != nil {
			return clients.Grant{}, err
		}
		if ok && s.Held {
			if etag != before.etag {
				before = seen{etag, got + s.LeaseMS*int64(time.Millisecond)}
			}
			if history.Now() <= before.until {
				return clients.Grant{}, errHeld
			}
		}
		h := &hold{is: state{Held: true, Owner: rand.Text(), Token: s.Token + 1, LeaseMS: l.options.TTL.Milliseconds()}}
		var sent int64
		if h.etag, sent, err = l.write(ctx, key, etag, h.is); err != nil {
			return clients.Grant{}, err
		}
		g := clients.Grant{Key: key, Token: h.is.Token, Since: sent, Lease: l.options.TTL.Truncate(time.Millisecond), Ref: h}
		if l.deletes {
			g.Token = 0 // the counter goes with the object
		}
		return g, nil
	})
}

func (l *lease) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	var sent int64
	err := l.change(ctx, "renew", g, func(h *hold) (err error) {
		var etag string
		if etag, sent, err = l.write(ctx, g.Key, h.etag, h.is); err == nil {
			h.etag = etag
		}
		return err
	})
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: g.Lease}, nil
}

func (l *lease) Release(ctx context.Context, g clients.Grant) error {
	return l.change(ctx, "release", g, func(h *hold) error {
		if l.deletes {
			return l.remove(ctx, g.Key, "")
		}
		free := h.is
		free.Held = false
		_, _, err := l.write(ctx, g.Key, h.etag, free)
		return err
	})
}

// triesToChange bounds how often a change is sent: each renewal that was given up may take effect in between.
const triesToChange = 3

// change does something to the object at the entity tag that the grant is known to have. Where it has another one, the
// object is read: an earlier renewal may have taken effect without an answer.
func (l *lease) change(ctx context.Context, what string, g clients.Grant, do func(*hold) error) error {
	h := g.Ref.(*hold)
	h.mu.Lock()
	defer h.mu.Unlock()
	err := do(h)
	for try := 1; errors.Is(err, errHeld) && try < triesToChange; try++ {
		var mine bool
		if mine, err = l.mine(ctx, g.Key, h); err == nil && !mine {
			err = clients.ErrNotHeld
		}
		if err == nil {
			err = do(h)
		}
	}
	if errors.Is(err, errNoBucket) {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", l.name, what, g.Key, err)
	}
	return nil
}

// mine asks whether the object is still the grant's, and notes its entity tag.
func (l *lease) mine(ctx context.Context, key string, h *hold) (bool, error) {
	s, etag, ok, err := l.read(ctx, key)
	if err != nil || !ok || !s.Held || s.Owner != h.is.Owner {
		return false, err
	}
	h.etag = etag
	return true, nil
}

// Holds implements clients.Holder.
func (l *lease) Holds(ctx context.Context, g clients.Grant) (bool, error) {
	h := g.Ref.(*hold)
	h.mu.Lock()
	defer h.mu.Unlock()
	mine, err := l.mine(ctx, g.Key, h)
	if errors.Is(err, errNoBucket) {
		return false, nil
	}
	return mine, err
}

// lookLease counts the holder's mark.
func lookLease(ctx context.Context, o clients.Options, key string) (int, error) {
	is, err := look(ctx, o, key)
	if err != nil || is.etag == "" {
		return 0, err
	}
	var s state
	if err := json.Unmarshal(is.body, &s); err != nil {
		return 0, fmt.Errorf("read the object %s: %w", key, err)
	}
	if s.Held {
		return 1, nil
	}
	return 0, nil
}
