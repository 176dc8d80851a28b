package main

// addScript adds a lease to what is left of the last one.
const addScript = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("pexpire", KEYS[1], redis.call("pttl", KEYS[1]) + ARGV[2])`

func addLease(db *redis, l *lock, h *hold) error {
	return was(one(db.script(addScript, []string{h.key}, h.owner, l.ttl.Milliseconds())))
}

func init() {
	plant(bug{
		name:  "extensions-add-up",
		about: "a renewal that adds a lease to what is left of the last one: when its holder has died, the others wait for all of them",
		wrong: func(r *recipe) {
			r.renew = func(l *lock, db *redis, h *hold) error { return addLease(db, l, h) }
		},
	})
	plant(bug{
		name:  "watchdog-adds-up",
		about: "a watchdog whose renewals each add a lease to what is left of the last one: when its holder has died after a long section, the others wait for all of them",
		wrong: func(r *recipe) {
			watchdog(r, func(l *lock, h *hold) error { return addLease(l.aside, l, h) }, honest)
		},
		right: watched,
	})
}
