package main

// The steps of a semaphore: a sorted set of permits, by their ends on the server's clock.
const (
	takePermitScript = dropPermits + `if redis.call("zcard", KEYS[1]) >= tonumber(ARGV[3]) then return false end
redis.call("zadd", KEYS[1], ends, ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`
	freePermitScript  = `return redis.call("zrem", KEYS[1], ARGV[1])`
	renewPermitScript = dropPermits + `if not redis.call("zscore", KEYS[1], ARGV[1]) then return 0 end
redis.call("zadd", KEYS[1], ends, ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`
	dropPermits = `local t = redis.call("time") local now = t[1] * 1000000 + t[2]
redis.call("zremrangebyscore", KEYS[1], "-inf", "(" .. string.format("%.0f", now))
local ends = string.format("%.0f", now + ARGV[2] * 1000)
`
)

// permits is how many clients may have a permit at once.
const permits = 2

// semaphore is a lock of so many permits.
func semaphore(r *recipe) {
	r.Kind, r.Permits, r.Tokens = "semaphore", permits, false
	r.take = takePermit(takePermitScript)
	r.free = func(l *lock, h *hold) error { return was(one(l.db.script(freePermitScript, []string{h.key}, h.owner))) }
	r.renew = renewPermit(renewPermitScript)
}

func takePermit(script string) func(*lock, string, string) (int64, error) {
	return func(l *lock, key, owner string) (int64, error) {
		_, err := tokenOf(l.db.script(script, []string{key}, owner, l.ttl.Milliseconds(), permits))
		return 0, err
	}
}

func renewPermit(script string) func(*lock, *redis, *hold) error {
	return func(l *lock, db *redis, h *hold) error {
		return was(one(db.script(script, []string{h.key}, h.owner, l.ttl.Milliseconds())))
	}
}

func init() {
	plant(bug{
		name:  "permit-counted-before",
		about: "a semaphore that counts its permits, and adds one with the next command",
		wrong: func(r *recipe) {
			semaphore(r)
			take := r.take
			r.take = func(l *lock, key, owner string) (int64, error) {
				n, err := tokenOf(l.db.script(`return redis.call("zcard", KEYS[1])`, []string{key}))
				if err == nil && n >= permits {
					// Those that are over are dropped by the next step alone.
					return take(l, key, owner)
				}
				if err != nil {
					return 0, err
				}
				return takePermit(dropPermits+`redis.call("zadd", KEYS[1], ends, ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`)(l, key, owner)
			}
		},
		right: semaphore,
	})
	plant(bug{
		name:  "permit-comes-back",
		about: "a semaphore whose renewal adds the permit again that is over, however many there are by then",
		wrong: func(r *recipe) {
			semaphore(r)
			r.renew = renewPermit(dropPermits + `redis.call("zadd", KEYS[1], ends, ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`)
		},
		right: semaphore,
	})
	plant(bug{
		name:  "permit-renewed-in-vain",
		about: "a semaphore whose renewal prolongs the key, and not the permit in it",
		wrong: func(r *recipe) {
			semaphore(r)
			r.renew = renewPermit(dropPermits + `if not redis.call("zscore", KEYS[1], ARGV[1]) then return 0 end
return redis.call("pexpire", KEYS[1], 2 * ARGV[2])`)
		},
		right: semaphore,
	})
	plant(bug{
		name:  "permits-end-together",
		about: "a semaphore whose permits have the key's expiry alone: a permit of a dead client stays for as long as others come or renew",
		wrong: func(r *recipe) {
			semaphore(r)
			r.take = takePermit(`if redis.call("zcard", KEYS[1]) >= tonumber(ARGV[3]) then return false end
redis.call("zadd", KEYS[1], 0, ARGV[1])
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`)
			r.renew = renewPermit(`if not redis.call("zscore", KEYS[1], ARGV[1]) then return 0 end
return redis.call("pexpire", KEYS[1], ARGV[2])`)
		},
		right: semaphore,
	})
	plant(bug{
		name:  "permit-of-another",
		about: "a semaphore whose release takes away the permit that ends first, which may be of another client",
		wrong: func(r *recipe) {
			semaphore(r)
			r.free = func(l *lock, h *hold) error {
				return was(one(l.db.script(`if not redis.call("zscore", KEYS[1], ARGV[1]) then return 0 end
return #redis.call("zpopmin", KEYS[1]) / 2`, []string{h.key}, h.owner)))
			}
		},
		right: semaphore,
	})
}
