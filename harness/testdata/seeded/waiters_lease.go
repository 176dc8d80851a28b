package main

// The value says since when the lock is held, and who waits decides how long that may be: by its own lease.
const takeOldScript = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000)
local since = redis.call("hget", KEYS[1], "since")
if since and since + ARGV[2] > now then return false end
redis.call("hset", KEYS[1], "owner", ARGV[1], "since", now)
return redis.call("incr", KEYS[2])`

// aged is a lock that is taken over from a holder whose lease has ended, by such a script. Each client asks for a lease of its own.
func aged(take func(*lock, string, string) (int64, error)) func(*recipe) {
	return func(r *recipe) {
		takeOver(func() any { return "" })(r)
		r.OwnLeases = true
		r.take = take
	}
}

func init() {
	plant(bug{
		name:  "waiters-lease",
		about: "a waiting client takes the lock over when it is older than its own lease, whatever lease the holder has",
		wrong: aged(func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(takeOldScript, []string{key, key + ":token"}, owner, l.ttl.Milliseconds()+1))
		}),
		right: aged(func(l *lock, key, owner string) (int64, error) {
			return tokenOf(l.db.script(takeOverScript, []string{key, key + ":token"}, "", owner, l.ttl.Milliseconds()+1))
		}),
	})
}
