package main

// countScript takes the lock, or enters it once more if the owner has it; count is what that does to the number of entries.
func countScript(count string) string {
	return `local owner = redis.call("get", KEYS[1])
if owner and owner ~= ARGV[1] then return false end
if not owner then redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) redis.call("del", KEYS[3]) end
` + count + `
return redis.call("incr", KEYS[2])`
}

// uncountScript leaves the lock, and frees it if that was the last entry.
const uncountScript = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call("decr", KEYS[3]) <= 0 then redis.call("del", KEYS[1], KEYS[3]) end
return 1`

func init() {
	// A lock that can be entered again counts its entries; a request whose connection was reset is made again.
	counted := func(count string) func(*recipe) {
		return func(r *recipe) {
			keys := func(key string) []string { return []string{key, key + ":token", key + ":entries"} }
			r.take = func(l *lock, key, owner string) (token int64, err error) {
				for range 3 {
					token, err = tokenOf(l.db.script(countScript(count), keys(key), owner, l.ttl.Milliseconds()))
					if err == nil || !reset(err) {
						break
					}
				}
				return token, err
			}
			r.free = func(l *lock, h *hold) error {
				return was(one(l.db.script(uncountScript, keys(h.key), h.owner)))
			}
		}
	}
	plant(bug{
		name:  "retry-enters-again",
		about: "a request whose connection was reset is made again, and counts as a second entry: one release leaves the lock taken",
		wrong: counted(`redis.call("incr", KEYS[3])`),
		right: counted(`redis.call("set", KEYS[3], 1)`),
	})
}
