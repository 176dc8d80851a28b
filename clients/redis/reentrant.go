package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
)

func redisReentrantInfo() clients.Info {
	return clients.Info{
		Name:      "redis-reentrant",
		About:     "one Redis: a hash that counts its owner's entries, kept by scripts, as Redisson's RLock; the owner's name is new with each hold",
		Cluster:   "redis",
		Kind:      clients.Reentrant,
		OwnLeases: true,
		MinTTL:    time.Millisecond,
		Inspect:   lookRedis,
		Open: openRedis(func(l *redisLock) clients.Lock {
			return &redisReentrant{redisLock: l, holds: map[string]*redisHold{}}
		}),
	}
}

// redisReentrant counts its entries at the server: the outermost release frees the lock.
// Its releases confirm nothing: if the answer to an entry was lost, the count may be one more than the client's.
type redisReentrant struct {
	*redisLock
	mu    sync.Mutex
	holds map[string]*redisHold // by key
}

// redisHold is a grant's Ref, the same for all grants of one hold. An entry that finds the hold to be over begins
// another: else the release of that entry would free what a renewal of an earlier one has promised.
type redisHold struct {
	owner string
	depth int
	doubt bool // the server's count may differ
}

const (
	// It answers 0 if ARGV[3] says that the owner has entered already, and the owner is gone.
	redisEnter = `local mine=redis.call("hexists",KEYS[1],ARGV[1])
if redis.call("exists",KEYS[1])~=mine then return false end
if mine==0 and ARGV[3]=="again" then return 0 end
local n=redis.call("hincrby",KEYS[1],ARGV[1],1) redis.call("pexpire",KEYS[1],ARGV[2]) return n`
	// An inner release starts the lease anew, as an entry does.
	redisLeave = `if redis.call("hexists",KEYS[1],ARGV[1])==0 then return 0 end
if ARGV[3]=="all" or redis.call("hincrby",KEYS[1],ARGV[1],-1)<=0 then redis.call("del",KEYS[1]) else redis.call("pexpire",KEYS[1],ARGV[2]) end return 1`
	redisStay = `if redis.call("hexists",KEYS[1],ARGV[1])==0 then return 0 end return redis.call("pexpire",KEYS[1],ARGV[2])`
)

// hold returns what the client holds on key, or a new hold that an acquire may fill. how is ARGV[3] of redisEnter.
func (l *redisReentrant) hold(key string) (h *redisHold, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holds[key]; h != nil {
		return h, "again"
	}
	return &redisHold{owner: rand.Text()}, "first"
}

func (l *redisReentrant) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	h, how := l.hold(key)
	n, sent, err := l.try(ctx, key, h.owner, "EVAL", redisEnter, 1, key, h.owner, l.ttl.Milliseconds(), how)
	l.mu.Lock()
	if over := err == nil && n == int64(0); over {
		delete(l.holds, key)
		l.mu.Unlock()
		return l.Acquire(ctx, key)
	}
	defer l.mu.Unlock()
	if err != nil {
		h.doubt = h.doubt || errors.Is(err, clients.ErrUnknown)
		return clients.Grant{}, err
	}
	h.depth++
	l.holds[key] = h
	return clients.Grant{Key: key, Since: sent, Lease: l.ttl, Ref: h}, nil
}

// Release leaves once. If the count is in doubt, the outermost release frees the lock whatever it
// is.
func (l *redisReentrant) Release(ctx context.Context, g clients.Grant) error {
	h := g.Ref.(*redisHold)
	l.mu.Lock()
	h.depth--
	what := "one"
	if h.depth <= 0 {
		if l.holds[g.Key] == h {
			delete(l.holds, g.Key)
		}
		if h.doubt {
			what = "all"
		}
	}
	l.mu.Unlock()
	g.Ref = h.owner
	_, err := l.compareAnd(ctx, "release", g, redisLeave, l.ttl.Milliseconds(), what)
	if err != nil && !errors.Is(err, clients.ErrNotHeld) { // one that was not sent is counted at the service still
		l.mu.Lock()
		h.doubt = true
		l.mu.Unlock()
	}
	return err
}

func (l *redisReentrant) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	g.Ref = g.Ref.(*redisHold).owner
	sent, err := l.compareAnd(ctx, "renew", g, redisStay, l.ttl.Milliseconds())
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: l.ttl}, nil
}
