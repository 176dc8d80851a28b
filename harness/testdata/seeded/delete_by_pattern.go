package main

// The lock has notes beside its key, and the release deletes what begins like the key.
const notedScript = `if not redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return false end
redis.call("set", KEYS[1] .. ":by", ARGV[3], "PX", ARGV[2])
return redis.call("incr", KEYS[2])`

// noted is a lock whose release deletes what own gives, or, if it comes too late, what left gives.
func noted(own, left string) func(*recipe) {
	return func(r *recipe) {
		r.take = func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(notedScript, []string{key, "token:" + key}, owner, l.ttl.Milliseconds(), l.client))
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(`local held = redis.call("get", KEYS[1]) == ARGV[1]
for _, k in ipairs(held and `+own+` or `+left+`) do
  if held or k ~= KEYS[1] then redis.call("del", k) end
end
return held and 1 or 0`, []string{h.key}, h.owner)))
		}
	}
}

func init() {
	const (
		none = `{}`
		both = `{KEYS[1], KEYS[1] .. ":by"}`
		all  = `redis.call("keys", KEYS[1] .. "*")`
	)
	plant(bug{
		name:  "deletes-by-pattern",
		about: "a release that deletes all that begins with the key, and with it the locks of longer keys",
		wrong: noted(all, none),
		right: noted(both, none),
	})
	plant(bug{
		name:  "tidies-by-pattern",
		about: "a release that comes too late leaves the key alone, and deletes all else that begins with it",
		wrong: noted(both, all),
		right: noted(both, none),
	})
}
