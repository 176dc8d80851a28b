package main

import "time"

// numbered replaces the token of the lock by another one.
func numbered(token func(l *lock, key string) int64) func(*recipe) {
	return func(r *recipe) {
		take := r.take
		r.take = func(l *lock, key, owner string) (int64, error) {
			if _, err := take(l, key, owner); err != nil {
				return 0, err
			}
			return token(l, key), nil
		}
	}
}

func init() {
	count := int64(0)
	plant(bug{
		name:  "token-per-client",
		about: "every client counts its tokens by itself",
		wrong: numbered(func(*lock, string) int64 { count++; return count }),
	})
	plant(bug{
		name:  "token-from-clock",
		about: "the token is the client's wall clock",
		wrong: numbered(func(*lock, string) int64 { return time.Now().UnixNano() }),
	})
	plant(bug{
		name:  "token-in-the-key",
		about: "the token is counted in the lock's own key, which the release deletes",
		wrong: func(r *recipe) {
			r.Renews = false
			r.take = func(l *lock, key, owner string) (int64, error) {
				return tokenOf(l.db.script(`if redis.call("hsetnx", KEYS[1], "owner", ARGV[1]) == 0 then return false end
redis.call("pexpire", KEYS[1], ARGV[2])
return redis.call("hincrby", KEYS[1], "token", 1)`, []string{key}, owner, l.ttl.Milliseconds()))
			}
			r.free = func(l *lock, h *hold) error {
				return was(one(l.db.script(`if `+ownerIs+` then return redis.call("del", KEYS[1]) end return 0`, []string{h.key}, h.owner)))
			}
		},
	})
	plant(bug{
		name:  "token-before-lock",
		about: "INCR before the lock is won: who drew first may be granted last",
		wrong: func(r *recipe) {
			r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
				token, err := l.db.do("INCR", key+":token")
				if err != nil {
					return nil, errNotSent // nothing was asked of the lock
				}
				h, err := poll(l, key, end)
				if err == nil {
					h.token = token.(int64)
				}
				return h, err
			}
		},
	})
}
