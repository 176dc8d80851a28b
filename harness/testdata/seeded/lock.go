package main

import (
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"syscall"
	"time"
	"unsafe"
)

// recipe is a lock in its steps.
type recipe struct {
	abilities
	// acquire waits until end for the lock.
	acquire func(l *lock, key string, end time.Time) (*hold, error)
	// take tries once; errTaken says that another has it.
	take func(l *lock, key, owner string) (token int64, err error)
	// owner names a grant.
	owner func(l *lock) string
	// lease says since when a grant lasts, and how long.
	lease func(l *lock, sent, answered int64) (since int64, lease time.Duration)
	free  func(l *lock, h *hold) error
	renew func(l *lock, db *redis, h *hold) error
	holds func(l *lock, h *hold) (bool, error) // nil if it cannot be asked
	// downgrade makes what is shared of what its client has alone; nil if it cannot.
	downgrade func(l *lock, h *hold) (*hold, error)
	// What happens besides, where not nil.
	opened            func(l *lock)
	granted, released func(l *lock, h *hold)
	// releasesAgain: who releases again what it has released last does the same step again.
	releasesAgain bool
	// keepConnection: one on which an answer is missing is used again.
	keepConnection bool
}

// lock is one client's.
type lock struct {
	recipe
	client string
	ttl    time.Duration
	db     *redis // of the client's requests
	aside  *redis // of what goes on in the background
	hasty  *redis // with a time-out of its own
	asked  int64  // when the latest request was sent, of a lock that makes it again
	held   map[string]*hold
	former *hold  // that was released last
	key    string // that was asked for last
	shared bool   // by a reader
	// cancelAfter is when the client cancels the acquire; 0: it does not.
	cancelAfter time.Duration
}

// hold is one grant.
type hold struct {
	key, owner string
	token      int64
	since      int64 // CLOCK_MONOTONIC
	lease      time.Duration
	stop       chan struct{} // of a watchdog
	outer      *hold         // of a reentrant lock: what it is an entry of
	over       bool          // of a reentrant lock: it was found to be
	expired    bool          // the lock says of the grant itself that it is over
}

// correct is a lock without a known bug: taken in one step, with an end, under a name
// that no other grant has; given back and renewed only by its owner.
func correct() recipe {
	yes := true
	return recipe{
		abilities: abilities{Tokens: true, Leased: &yes, Renews: true},
		acquire:   poll,
		take:      takeOnce,
		owner:     func(*lock) string { return rand.Text() },
		lease:     func(l *lock, sent, _ int64) (int64, time.Duration) { return sent, l.ttl },
		free:      freeOwn,
		renew:     renewOwn,
	}
}

// get is an acquire whose grant is not over when the answer comes: one that is over is given back, and the
// lock asked for anew.
func (l *lock) get(key string, end time.Time) (*hold, error) {
	for {
		h, err := l.acquire(l, key, end)
		if err != nil || h.lease == 0 || h.expired || now() < h.since+int64(h.lease) {
			return h, err
		}
		if err := l.free(l, h); err != nil && err != errNotHeld {
			return nil, err
		}
		if time.Now().After(end) {
			return nil, errTimeout
		}
	}
}

// poll asks until the lock is granted. A request that certainly did not go out, or that
// was refused, can be made again.
func poll(l *lock, key string, end time.Time) (*hold, error) { return pollUnless(l, key, end, nil) }

// pollUnless is poll, which asks no more when over is closed.
func pollUnless(l *lock, key string, end time.Time, over <-chan struct{}) (*hold, error) {
	for {
		h, err := l.try(key)
		if err == nil || !errors.Is(err, errTaken) && !errors.Is(err, errNotSent) {
			return h, err
		}
		select {
		case <-over:
			return nil, errCancelled
		default:
		}
		if time.Now().After(end) {
			return nil, errTimeout
		}
		nap()
	}
}

// try asks once.
func (l *lock) try(key string) (*hold, error) {
	h := &hold{key: key, owner: l.owner(l)}
	sent := now()
	token, err := l.take(l, key, h.owner)
	if err != nil {
		return nil, err
	}
	h.token = token
	h.since, h.lease = l.lease(l, sent, now())
	return h, nil
}

func nap() { time.Sleep(time.Duration(2+mathrand.IntN(10)) * time.Millisecond) }

const takeScript = `if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("incr", KEYS[2]) end
return false`

func takeOnce(l *lock, key, owner string) (int64, error) {
	return tokenOf(l.db.script(takeScript, []string{key, key + ":token"}, owner, l.ttl.Milliseconds()))
}

// tokenOf reads a script's answer: the token, or nil where another has the lock.
func tokenOf(reply any, err error) (int64, error) {
	token, ok := reply.(int64)
	if err == nil && !ok {
		err = errTaken
	}
	return token, err
}

const freeScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`

func freeOwn(l *lock, h *hold) error {
	return was(one(l.db.script(freeScript, []string{h.key}, h.owner)))
}

const renewScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end
return 0`

func renewOwn(l *lock, db *redis, h *hold) error {
	return was(one(db.script(renewScript, []string{h.key}, h.owner, l.ttl.Milliseconds())))
}

const holdsScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end
return 0`

func holdsOwn(l *lock, h *hold) (bool, error) {
	return one(l.db.script(holdsScript, []string{h.key}, h.owner))
}

// was makes an error of a step that found the lock to be another's.
func was(ok bool, err error) error {
	if err == nil && !ok {
		return errNotHeld
	}
	return err
}

// draw gives the next token, to who holds the lock already.
func (l *lock) draw(key string) (int64, error) {
	return tokenOf(l.db.do("INCR", key+":token"))
}

// withoutLease is for locks that promise no time: they are held until they are released.
func withoutLease(r *recipe) {
	no := false
	r.Leased, r.Renews = &no, false
	r.lease = func(*lock, int64, int64) (int64, time.Duration) { return 0, 0 }
}

// now reads CLOCK_MONOTONIC, which no clock fault reaches.
func now() int64 {
	var t syscall.Timespec
	const monotonic = 1
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return t.Nano()
}
