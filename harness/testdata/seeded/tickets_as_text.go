package main

import (
	"errors"
	"strconv"
	"time"
)

// ticketScript gives an owner a ticket, and grants the lock to the lowest of the line. A ticket leaves the line
// if it is given back, or was not used for as long as its key lives. The fourth argument is how tickets are ordered.
const ticketScript = `local ticket = redis.call("hget", KEYS[3], ARGV[1])
if not ticket or not redis.call("zscore", KEYS[1], ticket) then
  ticket = tostring(redis.call("incr", KEYS[2]))
  redis.call("hset", KEYS[3], ARGV[1], ticket)
  redis.call("zadd", KEYS[1], ARGV[4] == "number" and ticket or 0, ticket)
end
redis.call("set", KEYS[4] .. ticket, 1, "PX", ARGV[3])
local first = redis.call("zrange", KEYS[1], 0, 0)[1]
while redis.call("exists", KEYS[4] .. first) == 0 do
  redis.call("zrem", KEYS[1], first)
  first = redis.call("zrange", KEYS[1], 0, 0)[1]
end
if first ~= ticket then return false end
redis.call("set", KEYS[4] .. ticket, 1, "PX", ARGV[2])
return tonumber(ticket)`

const ticketBack = `if redis.call("zrem", KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call("del", KEYS[2] .. ARGV[1])`

const ticketRenewed = `if not redis.call("zscore", KEYS[1], ARGV[1]) then return 0 end
return redis.call("pexpire", KEYS[2] .. ARGV[1], ARGV[2])`

// ticketed is a lock that belongs to the lowest ticket in the line.
func ticketed(order string) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			h := &hold{key: key, owner: l.owner(l), lease: l.ttl}
			for {
				h.since = now()
				token, err := tokenOf(l.db.script(ticketScript, []string{key, key + ":next", key + ":tickets", key + ":lives:"},
					h.owner, l.ttl.Milliseconds(), max(l.ttl/2, 500*time.Millisecond).Milliseconds(), order))
				if h.token = token; err == nil {
					return h, nil
				}
				if !errors.Is(err, errTaken) && !errors.Is(err, errNotSent) {
					return nil, err
				}
				if time.Now().After(end) {
					return nil, errTimeout // the others pass its ticket over
				}
				nap()
			}
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(ticketBack, []string{h.key, h.key + ":lives:"}, strconv.FormatInt(h.token, 10))))
		}
		r.renew = func(l *lock, db *redis, h *hold) error {
			return was(one(db.script(ticketRenewed, []string{h.key, h.key + ":lives:"}, strconv.FormatInt(h.token, 10), l.ttl.Milliseconds())))
		}
	}
}

func init() {
	// Members of one score are in the order of their bytes: "10" stands before "9".
	plant(bug{
		name:  "tickets-as-text",
		about: "the lowest ticket has the lock, and tickets are compared as texts: the tenth client comes before the ninth",
		wrong: ticketed("text"),
		right: ticketed("number"),
	})
}
