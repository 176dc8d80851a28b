package main

import "crypto/rand"

// takeUpScript takes the lock if it is free, or if an earlier process of the same client has it.
const takeUpScript = `local owner = redis.call("get", KEYS[1])
if owner and string.sub(owner, 1, #ARGV[3]) ~= ARGV[3] then return false end
if owner then redis.call("set", KEYS[1], ARGV[1], "KEEPTTL")
else redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end
return redis.call("incr", KEYS[2])`

// named is a lock whose owner's name begins with its client's.
func named(r *recipe) {
	r.owner = func(l *lock) string { return l.client + ":" + rand.Text() }
}

// atStart replaces a process's first attempt to take a key.
func atStart(r *recipe, first func(l *lock, key, owner string) (int64, error)) {
	take, asked := r.take, map[string]bool{}
	r.take = func(l *lock, key, owner string) (int64, error) {
		if asked[key] {
			return take(l, key, owner)
		}
		asked[key] = true
		return first(l, key, owner)
	}
}

// noteClient says whether a client of this name has asked for the key before, and notes it.
func (l *lock) noteClient(key string) (again bool, err error) {
	added, err := one(l.db.do("SADD", key+":clients", l.client))
	return err == nil && !added, err
}

func init() {
	// So that a client need not wait for itself after a crash.
	plant(bug{
		name:  "takes-up-again",
		about: "a client that starts again takes up the lock of its former process, and promises a whole lease of what is left",
		wrong: func(r *recipe) {
			named(r)
			atStart(r, func(l *lock, key, owner string) (int64, error) {
				return tokenOf(l.db.script(takeUpScript, []string{key, key + ":token"}, owner, l.ttl.Milliseconds(), l.client+":"))
			})
		},
		right: named,
	})
	// "What is left over from before the crash must be mine."
	cleanUp := func(clean bool) func(*recipe) {
		return func(r *recipe) {
			take := r.take
			atStart(r, func(l *lock, key, owner string) (int64, error) {
				again, err := l.noteClient(key)
				if err == nil && again && clean {
					_, err = l.db.do("DEL", key)
				}
				if err != nil {
					return 0, err
				}
				return take(l, key, owner)
			})
		}
	}
	plant(bug{
		name:  "cleans-up-at-start",
		about: "a client that starts again deletes the lock, as if only its former process could hold it",
		wrong: cleanUp(true),
		right: cleanUp(false),
	})
}
