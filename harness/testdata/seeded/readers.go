package main

// The steps of a lock that readers share: a sorted set of leases, by their ends on the server's clock. A writer's is the
// only one while it lasts.
const (
	joinScript = `local t = redis.call("time") local now = t[1] * 1000000 + t[2]
redis.call("zremrangebyscore", KEYS[1], "-inf", "(" .. string.format("%.0f", now))
local first = redis.call("zrange", KEYS[1], 0, 0)[1]
if first and (ARGV[3] == "w" or string.sub(first, 1, 1) == "w") then return false end
redis.call("zadd", KEYS[1], string.format("%.0f", now + ARGV[2] * 1000), ARGV[3] .. ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`
	partScript    = `return redis.call("zrem", KEYS[1], ARGV[2] .. ARGV[1])`
	partAllScript = `if not redis.call("zscore", KEYS[1], ARGV[2] .. ARGV[1]) then return 0 end
return redis.call("del", KEYS[1])`
)

// The same with a set that ends as a whole, which the first reader says when.
const (
	joinSetScript = `local first = redis.call("srandmember", KEYS[1])
if first and (ARGV[3] == "w" or string.sub(first, 1, 1) == "w") then return false end
redis.call("sadd", KEYS[1], ARGV[3] .. ARGV[1])
if not first then redis.call("pexpire", KEYS[1], ARGV[2]) end
return 1`
	partSetScript = `return redis.call("srem", KEYS[1], ARGV[2] .. ARGV[1])`
)

// What a reader or a writer renews: its own lease, or the leases of all.
const (
	renewPartScript = renewIfHeld + `redis.call("zadd", KEYS[1], ends, ARGV[3] .. ARGV[1])
return 1`
	renewAllScript = renewIfHeld + `for _, m in ipairs(redis.call("zrange", KEYS[1], 0, -1)) do redis.call("zadd", KEYS[1], ends, m) end
return 1`
	renewIfHeld = `local t = redis.call("time") local now = t[1] * 1000000 + t[2]
redis.call("zremrangebyscore", KEYS[1], "-inf", "(" .. string.format("%.0f", now))
if not redis.call("zscore", KEYS[1], ARGV[3] .. ARGV[1]) then return 0 end
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
local ends = string.format("%.0f", now + ARGV[2] * 1000)
`
)

// sharedRenewed is a lock of readers and writers who renew their leases by a script.
func sharedRenewed(renew string) func(*recipe) {
	return func(r *recipe) {
		sharedLock(joinScript, partScript)(r)
		r.Renews = true
		r.renew = func(l *lock, db *redis, h *hold) error {
			return was(one(db.script(renew, []string{h.key}, h.owner, l.ttl.Milliseconds(), mark(l.shared))))
		}
	}
}

// A writer becomes a reader: in one step, or in two between which another writer finds nobody.
const (
	downScript = `if redis.call("zrem", KEYS[1], "w" .. ARGV[1]) == 0 then return 0 end
local t = redis.call("time") local now = t[1] * 1000000 + t[2]
redis.call("zadd", KEYS[1], string.format("%.0f", now + ARGV[2] * 1000), "r" .. ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`
	becomeReaderScript = `local t = redis.call("time") local now = t[1] * 1000000 + t[2]
redis.call("zadd", KEYS[1], string.format("%.0f", now + ARGV[2] * 1000), "r" .. ARGV[1])
redis.call("pexpire", KEYS[1], 2 * ARGV[2])
return 1`
)

// downgrades is a lock of readers and writers whose writers can go on to read, by scripts that follow each other.
func downgrades(scripts ...string) func(*recipe) {
	return func(r *recipe) {
		sharedLock(joinScript, partScript)(r)
		r.Downgrades = true
		r.downgrade = func(l *lock, h *hold) (*hold, error) {
			next := *h
			for _, script := range scripts {
				next.since, next.lease = now(), l.ttl
				args := []any{h.owner, l.ttl.Milliseconds()}
				if script == partScript {
					args[1] = "w"
				}
				if err := was(one(l.db.script(script, []string{h.key}, args...))); err != nil {
					return nil, err
				}
			}
			return &next, nil
		}
	}
}

// sharedLock is a lock of readers and writers, whose names begin with an r and a w.
func sharedLock(join, part string) func(*recipe) {
	return func(r *recipe) {
		r.Kind, r.Tokens, r.Renews = "rw", false, false
		r.take = func(l *lock, key, owner string) (int64, error) {
			_, err := tokenOf(l.db.script(join, []string{key}, owner, l.ttl.Milliseconds(), mark(l.shared)))
			return 0, err
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(part, []string{h.key}, h.owner, mark(l.shared))))
		}
	}
}

// mark is what the name of a reader, or of a writer, begins with.
func mark(shared bool) string {
	if shared {
		return "r"
	}
	return "w"
}

func init() {
	plant(bug{
		name:  "reader-renews-all",
		about: "a read-write lock: a reader's renewal renews all readers, those that crashed, too",
		wrong: sharedRenewed(renewAllScript),
		right: sharedRenewed(renewPartScript),
	})
	plant(bug{
		name:  "downgrade-in-two-steps",
		about: "a read-write lock: a writer that goes on to read gives the lock back, and enters as a reader in a second step that looks for nobody",
		wrong: downgrades(partScript, becomeReaderScript),
		right: downgrades(downScript),
	})
	plant(bug{
		name:  "reader-frees-all",
		about: "a read-write lock: a reader's release deletes the key, and with it the other readers",
		wrong: sharedLock(joinScript, partAllScript),
		right: sharedLock(joinScript, partScript),
	})
	plant(bug{
		name:  "readers-share-lease",
		about: "a read-write lock: only the first reader says when the key ends, and later ones are promised a whole lease",
		wrong: sharedLock(joinSetScript, partSetScript),
		right: sharedLock(joinScript, partScript),
	})
}
