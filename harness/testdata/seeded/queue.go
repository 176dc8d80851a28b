package main

import (
	"errors"
	"time"
)

// queueScript puts a waiter in line and grants the lock to the first. Where the fourth
// argument is "living", those are passed over that have not asked for a while.
const queueScript = `redis.call("set", KEYS[4] .. ARGV[1], 1, "PX", ARGV[3])
if not redis.call("lpos", KEYS[3], ARGV[1]) then redis.call("rpush", KEYS[3], ARGV[1]) end
local first = redis.call("lindex", KEYS[3], 0)
while ARGV[4] == "living" and first and redis.call("exists", KEYS[4] .. first) == 0 do
  redis.call("lpop", KEYS[3])
  first = redis.call("lindex", KEYS[3], 0)
end
if first ~= ARGV[1] or not redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
redis.call("lpop", KEYS[3])
return redis.call("incr", KEYS[2])`

// inLine is a fair lock: who asked first is granted first.
func inLine(whom string, leave bool) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			h := &hold{key: key, owner: l.owner(l), lease: l.ttl}
			for {
				h.since = now()
				token, err := tokenOf(l.db.script(queueScript, []string{key, key + ":token", key + ":line", key + ":waits:"},
					h.owner, l.ttl.Milliseconds(), max(l.ttl/2, 500*time.Millisecond).Milliseconds(), whom))
				if h.token = token; err == nil {
					return h, nil
				}
				if !errors.Is(err, errTaken) && !errors.Is(err, errNotSent) {
					return nil, err
				}
				if time.Now().After(end) {
					if leave {
						_, _ = l.db.do("LREM", key+":line", 0, h.owner) // the others pass it over all the same
					}
					return nil, errTimeout
				}
				nap()
			}
		}
	}
}

func init() {
	plant(bug{
		name:  "line-of-the-dead",
		about: "a fair lock that waits for the first in line, who has died",
		wrong: inLine("all", true),
		right: inLine("living", true),
	})
	plant(bug{
		name:  "line-of-the-gone",
		about: "a fair lock whose waiters do not leave the line when they give up",
		wrong: inLine("all", false),
		right: inLine("living", true),
	})
}
