package main

import (
	"errors"
	"time"
)

// aheadScript puts a client at the end of the line, in which the holder is first, and grants the lock to the first; or, where
// the fourth argument names a client, to whom it is no longer before. Those are dropped that do not hold the lock and have
// not asked for a while. To the others it says who is before them.
const aheadScript = `redis.call("set", KEYS[4] .. ARGV[1], 1, "PX", ARGV[3])
if not redis.call("lpos", KEYS[3], ARGV[1]) then redis.call("rpush", KEYS[3], ARGV[1]) end
local holder = redis.call("get", KEYS[1])
for _, other in ipairs(redis.call("lrange", KEYS[3], 0, -1)) do
  if other ~= holder and redis.call("exists", KEYS[4] .. other) == 0 then redis.call("lrem", KEYS[3], 0, other) end
end
local place = redis.call("lpos", KEYS[3], ARGV[1])
local turn = place == 0
if ARGV[4] ~= "" then turn = not redis.call("lpos", KEYS[3], ARGV[4]) end
if not turn then return redis.call("lindex", KEYS[3], place - 1) end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return redis.call("incr", KEYS[2])`

const stepAsideScript = `redis.call("lrem", KEYS[2], 0, ARGV[1])
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("del", KEYS[1])`

// behind is a fair lock whose waiters look whether they are first or, if they look only once who is before them, whether
// that one is gone.
func behind(once bool) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			h, before := &hold{key: key, owner: l.owner(l), lease: l.ttl}, ""
			for {
				h.since = now()
				reply, err := l.db.script(aheadScript, []string{key, key + ":token", key + ":line", key + ":waits:"},
					h.owner, l.ttl.Milliseconds(), max(l.ttl/2, 500*time.Millisecond).Milliseconds(), before)
				if h.token, err = tokenOf(reply, err); err == nil {
					return h, nil
				}
				if !errors.Is(err, errTaken) && !errors.Is(err, errNotSent) {
					return nil, err
				}
				if other, ok := reply.(string); ok && once && before == "" {
					before = other
				}
				if time.Now().After(end) {
					_, _ = l.db.script(stepAsideScript, []string{key, key + ":line"}, h.owner) // the others drop it all the same
					return nil, errTimeout
				}
				nap()
			}
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(stepAsideScript, []string{h.key, h.key + ":line"}, h.owner)))
		}
	}
}

func init() {
	// The recipe for ZooKeeper, without its last step.
	plant(bug{
		name:  "turn-unchecked",
		about: "who waits behind another takes the lock when that one is gone, though it may have given up",
		wrong: behind(true),
		right: behind(false),
	})
}
