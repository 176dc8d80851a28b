package main

import "crypto/rand"

// reentrant is the kind of a lock that its holder can acquire once more.
const reentrant = "reentrant"

// The steps of a hash that counts its owner's entries. ARGV[3] says that the owner has entered it already: if it is
// gone, that hold is over.
const (
	enterScript = `local mine = redis.call("hexists", KEYS[1], ARGV[1])
if redis.call("exists", KEYS[1]) ~= mine then return false end
if mine == 0 and ARGV[3] == "again" then return 0 end
redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	enterOnceScript = `local mine = redis.call("hexists", KEYS[1], ARGV[1])
if redis.call("exists", KEYS[1]) ~= mine then return false end
if mine == 0 and ARGV[3] == "again" then return 0 end
redis.call("hincrby", KEYS[1], ARGV[1], 1)
if mine == 0 then redis.call("pexpire", KEYS[1], ARGV[2]) end
return 1`
	enterBlindScript = `local mine = redis.call("hexists", KEYS[1], ARGV[1])
if ARGV[3] == "again" then
	if mine == 1 then
		redis.call("hincrby", KEYS[1], ARGV[1], 1)
		redis.call("pexpire", KEYS[1], ARGV[2])
	end
	return 1
end
if redis.call("exists", KEYS[1]) ~= mine then return false end
redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	leaveScript = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call("hincrby", KEYS[1], ARGV[1], -1) <= 0 then redis.call("del", KEYS[1]) end
return 1`
	leaveAllScript = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call("del", KEYS[1])`
)

// entered is a reentrant lock. The owner's name is new with each hold, so that a late release takes nothing from a
// later one; and an entry of a hold that is over begins another.
func entered(enter, leave string) func(*recipe) {
	return func(r *recipe) {
		r.Kind, r.Tokens, r.Renews = reentrant, false, false
		r.owner = func(l *lock) string {
			if h := l.held[l.key]; h != nil && !h.over {
				return h.owner
			}
			return rand.Text()
		}
		r.take = func(l *lock, key, owner string) (int64, error) {
			h, again := l.held[key], ""
			if h != nil && h.owner == owner {
				again = "again"
			}
			n, err := tokenOf(l.db.script(enter, []string{key}, owner, l.ttl.Milliseconds(), again))
			if err == nil && n == 0 {
				h.over = true
				return 0, errTaken // and asked for anew, by another name
			}
			return 0, err
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(leave, []string{h.key}, h.owner)))
		}
	}
}

func init() {
	plant(bug{
		name:  "inner-release-frees",
		about: "a reentrant lock whose release ends all entries at once",
		wrong: entered(enterScript, leaveAllScript),
		right: entered(enterScript, leaveScript),
	})
	plant(bug{
		name:  "entry-keeps-lease",
		about: "a second entry promises a whole lease, and leaves the key to end with the first one's",
		wrong: entered(enterOnceScript, leaveScript),
		right: entered(enterScript, leaveScript),
	})
	plant(bug{
		name:  "entry-of-the-lost",
		about: "a holder that enters a reentrant lock once more is granted it although its lease is over and another client has it",
		wrong: entered(enterBlindScript, leaveScript),
		right: entered(enterScript, leaveScript),
	})
}
