package main

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// takeAgainScript takes the lock, or finds that an earlier request of the same owner has.
const takeAgainScript = `local owner = redis.call("get", KEYS[1])
if owner and owner ~= ARGV[1] then return false end
if not owner then redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end
return redis.call("incr", KEYS[2])`

// takeAgain asks up to twice more if a request came to an end that again is about.
func takeAgain(l *lock, db *redis, key, owner string, again func(error) bool) (token int64, err error) {
	for range 3 {
		l.asked = now()
		token, err = tokenOf(db.script(takeAgainScript, []string{key, key + ":token"}, owner, l.ttl.Milliseconds()))
		if err == nil || !again(err) {
			break
		}
	}
	return token, err
}

// fromLast counts a lease from the last request: the first one may be the one that took the lock.
func fromLast(l *lock, _, _ int64) (int64, time.Duration) { return l.asked, l.ttl }

func reset(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) }

func late(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func init() {
	// What every library's retry does with a connection that was reset.
	afterReset := func(r *recipe) {
		r.take = func(l *lock, key, owner string) (int64, error) { return takeAgain(l, l.db, key, owner, reset) }
	}
	plant(bug{
		name:  "retry-counts-anew",
		about: "a request whose connection was reset is made again, and the lease is counted from the second",
		wrong: func(r *recipe) { afterReset(r); r.lease = fromLast },
		right: afterReset,
	})
	// A decorator with a time-out of its own around a client.
	afterTimeout := func(r *recipe) {
		r.opened = func(l *lock) { l.hasty = &redis{addr: l.db.addr, timeout: l.ttl / 5} }
		r.take = func(l *lock, key, owner string) (int64, error) { return takeAgain(l, l.hasty, key, owner, late) }
	}
	plant(bug{
		name:  "second-try-counts",
		about: "a request without an answer within a fifth of the lease is made again, and the lease is counted from the last",
		wrong: func(r *recipe) { afterTimeout(r); r.lease = fromLast },
		right: afterTimeout,
	})
}
