package main

// noteScript tries to take the lock, and leaves a mark if another has it.
const noteScript = `if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("incr", KEYS[2]) end
redis.call("set", KEYS[3], 1, "PX", ARGV[2])
return false`

// renewIfWantedScript extends the key only if somebody has asked for the lock within a lease.
const renewIfWantedScript = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call("exists", KEYS[2]) == 1 then redis.call("pexpire", KEYS[1], ARGV[2]) end
return 1`

func init() {
	notes := func(r *recipe) {
		r.take = func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(noteScript, []string{key, key + ":token", key + ":wanted"}, owner, l.ttl.Milliseconds()))
		}
	}
	// To save a write: nobody would get the lock anyway.
	plant(bug{
		name:  "renews-if-wanted",
		about: "a renewal that extends the key only if another client has asked for the lock, and reports success all the same",
		wrong: func(r *recipe) {
			notes(r)
			r.renew = func(l *lock, db *redis, h *hold) error {
				return was(one(db.script(renewIfWantedScript, []string{h.key, h.key + ":wanted"}, h.owner, l.ttl.Milliseconds())))
			}
		},
		right: notes,
	})
}
