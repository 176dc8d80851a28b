package main

func init() {
	// A renewal that finds nothing sets the key again: what had been done under the lock
	// meanwhile is not seen.
	plant(bug{
		name:  "renew-takes-anew",
		about: "a renewal that finds no key takes the lock again, as if it had never been lost",
		wrong: func(r *recipe) {
			r.renew = func(l *lock, db *redis, h *hold) error {
				return was(one(db.script(`local owner = redis.call("get", KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`, []string{h.key}, h.owner, l.ttl.Milliseconds())))
			}
		},
	})
}
