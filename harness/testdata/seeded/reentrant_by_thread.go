package main

import "crypto/rand"

// counted is a reentrant lock: a hash that counts its owner's entries.
func counted(id string) func(*recipe) {
	return func(r *recipe) {
		r.Renews = false
		r.owner = func(*lock) string { return id }
		r.take = func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(`if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return false end
redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return redis.call("incr", KEYS[2])`, []string{key, key + ":token"}, owner, l.ttl.Milliseconds()))
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call("hincrby", KEYS[1], ARGV[1], -1) <= 0 then redis.call("del", KEYS[1]) end
return 1`, []string{h.key}, h.owner)))
		}
	}
}

func init() {
	plant(bug{
		name:  "reentrant-by-thread",
		about: "the owner who may enter again is named after his thread, and every process has a thread 1",
		wrong: counted("thread-1"),
		right: counted(rand.Text() + ":thread-1"),
	})
}
