package main

import (
	"errors"
	"time"
)

// registeredScript puts a waiter in line once, and grants the lock to the first. Those are passed over that have not
// asked for a while, and may come back.
const registeredScript = `redis.call("set", KEYS[4] .. ARGV[1], 1, "PX", ARGV[3])
if redis.call("sadd", KEYS[5], ARGV[1]) == 1 then redis.call("rpush", KEYS[3], ARGV[1]) end
if tonumber(ARGV[4]) > 0 then redis.call("ltrim", KEYS[3], 0, ARGV[4] - 1) end
local first = redis.call("lindex", KEYS[3], 0)
while first and redis.call("exists", KEYS[4] .. first) == 0 do
  redis.call("lpop", KEYS[3])
  redis.call("srem", KEYS[5], first)
  first = redis.call("lindex", KEYS[3], 0)
end
if first ~= ARGV[1] or not redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
redis.call("lpop", KEYS[3])
redis.call("srem", KEYS[5], ARGV[1])
return redis.call("incr", KEYS[2])`

// inLineOf is a fair lock with room for so many who wait; 0: for all.
func inLineOf(room int) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			h := &hold{key: key, owner: l.owner(l), lease: l.ttl}
			line, registered := key+":line", key+":registered"
			for {
				h.since = now()
				token, err := tokenOf(l.db.script(registeredScript, []string{key, key + ":token", line, key + ":waits:", registered},
					h.owner, l.ttl.Milliseconds(), max(l.ttl/2, 500*time.Millisecond).Milliseconds(), room))
				if h.token = token; err == nil {
					return h, nil
				}
				if !errors.Is(err, errTaken) && !errors.Is(err, errNotSent) {
					return nil, err
				}
				if time.Now().After(end) {
					// If this fails, the others pass it over all the same.
					_, _ = l.db.script(`redis.call("lrem", KEYS[1], 0, ARGV[1]) return redis.call("srem", KEYS[2], ARGV[1])`, []string{line, registered}, h.owner)
					return nil, errTimeout
				}
				nap()
			}
		}
	}
}

func init() {
	plant(bug{
		name:  "line-of-three",
		about: "a fair lock that cuts its line after the third waiter: the fourth stays registered, and is never first",
		wrong: inLineOf(3),
		right: inLineOf(0),
	})
}
