package main

import "time"

// takeOverScript takes a lock whose value says until when it is held, by a clock whose
// time is handed in, or by the server's own where that is "".
const takeOverScript = `local now = tonumber(ARGV[1])
if not now then local t = redis.call("time") now = t[1] * 1000 + math.floor(t[2] / 1000) end
local ends = redis.call("hget", KEYS[1], "until")
if ends and tonumber(ends) > now then return false end
redis.call("hset", KEYS[1], "owner", ARGV[2], "until", now + ARGV[3])
return redis.call("incr", KEYS[2])`

const ownerIs = `redis.call("hget", KEYS[1], "owner") == ARGV[1]`

// takeOver is the lock with a time stamp in its value, as the documentation of SETNX
// once showed it with GETSET, made atomic.
func takeOver(clock func() any) func(*recipe) {
	return func(r *recipe) {
		r.Renews = false
		r.take = func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(takeOverScript, []string{key, key + ":token"}, clock(), owner, l.ttl.Milliseconds()+1))
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(`if `+ownerIs+` then return redis.call("del", KEYS[1]) end return 0`, []string{h.key}, h.owner)))
		}
	}
}

func init() {
	plant(bug{
		name:  "wall-clock-takeover",
		about: "the value says until when the lock is held, and clients compare it with their own wall clock",
		wrong: takeOver(func() any { return time.Now().UnixMilli() }),
		right: takeOver(func() any { return "" }),
	})
}
