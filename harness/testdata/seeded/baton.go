package main

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// popFor waits for an element of a list.
func popFor(l *lock, list string, wait time.Duration) (bool, error) {
	wait = max(10*time.Millisecond, min(wait, l.db.timeout/2))
	reply, err := l.db.do("BLPOP", list, strconv.FormatFloat(wait.Seconds(), 'f', 3, 64))
	return reply != nil, err
}

// handed is a lock that is one element of a list: who has it holds the lock.
func handed(r *recipe) {
	withoutLease(r)
	r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
		if _, err := l.db.script(`if redis.call("setnx", KEYS[1], 1) == 1 then redis.call("rpush", KEYS[2], 1) end return 0`,
			[]string{key + ":made", key + ":baton"}); err != nil {
			return nil, errNotSent
		}
		for {
			got, err := popFor(l, key+":baton", time.Until(end))
			if err != nil {
				return nil, err
			}
			if got {
				token, err := l.draw(key)
				return &hold{key: key, token: token}, err
			}
			if time.Now().After(end) {
				return nil, errTimeout
			}
		}
	}
	r.free = func(l *lock, h *hold) error {
		_, err := l.db.do("RPUSH", h.key+":baton", 1)
		return err
	}
}

// hinted waits for the same list, as a hint that it is worth asking.
func hinted(r *recipe) {
	r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
		for {
			h, err := l.try(key)
			if err != errTaken {
				return h, err
			}
			if time.Now().After(end) {
				return nil, errTimeout
			}
			// What was not a hint ends soon.
			if _, err := popFor(l, key+":baton", time.Duration(20+rand.IntN(20))*time.Millisecond); err != nil {
				nap()
			}
		}
	}
	r.free = func(l *lock, h *hold) error {
		return was(one(l.db.script(`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("rpush", KEYS[2], 1)
redis.call("ltrim", KEYS[2], 0, 0)
return redis.call("del", KEYS[1])`, []string{h.key, h.key + ":baton"}, h.owner)))
	}
}

func init() {
	plant(bug{
		name:  "baton",
		about: "the lock is an element of a list that BLPOP takes and RPUSH gives back: it dies with its holder",
		wrong: handed,
		right: hinted,
	})
}
