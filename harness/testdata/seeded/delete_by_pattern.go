package main

// The lock has notes beside its key, and the release deletes what begins like the key.
const notedScript = `if not redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
redis.call("set", KEYS[1] .. ":by", ARGV[3], "PX", ARGV[2])
return redis.call("incr", KEYS[2])`

// noted is a lock whose release deletes what found gives.
func noted(found string) func(*recipe) {
	return func(r *recipe) {
		r.take = func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(notedScript, []string{key, "token:" + key}, owner, l.ttl.Milliseconds(), l.client))
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
for _, k in ipairs(`+found+`) do redis.call("del", k) end
return 1`, []string{h.key}, h.owner)))
		}
	}
}

func init() {
	plant(bug{
		name:  "deletes-by-pattern",
		about: "a release that deletes all that begins with the key, and with it the locks of longer keys",
		wrong: noted(`redis.call("keys", KEYS[1] .. "*")`),
		right: noted(`{KEYS[1], KEYS[1] .. ":by"}`),
	})
}
