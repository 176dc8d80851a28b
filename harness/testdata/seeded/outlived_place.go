package main

import (
	"sync/atomic"
	"time"
)

// lineUpScript puts a client at the end of the line, with a session of its own.
const lineUpScript = `redis.call("set", KEYS[2] .. ARGV[1], 1, "PX", ARGV[2])
return redis.call("rpush", KEYS[1], ARGV[1])`

// turnScript is the token of a client that nobody alive is in front of. Where the second argument is "own", its own
// session must be alive, too: -1 if it is not.
const turnScript = `for _, other in ipairs(redis.call("lrange", KEYS[1], 0, -1)) do
  if other == ARGV[1] then break end
  if redis.call("exists", KEYS[2] .. other) == 1 then return false end
end
if ARGV[2] == "own" and redis.call("exists", KEYS[2] .. ARGV[1]) == 0 then return -1 end
return redis.call("incr", KEYS[3])`

// leaveLineScript ends a session and its place in line; 0 if the session was over.
const leaveLineScript = `redis.call("lrem", KEYS[1], 0, ARGV[1])
return redis.call("del", KEYS[2] .. ARGV[1])`

// bySession is a fair lock on sessions: the first in line whose session is alive holds it. whose says whether a
// client that sees its turn come looks at its own session, too.
func bySession(whose string) func(*recipe) {
	names := func(key string) []string { return []string{key + ":line", key + ":session:", key + ":token"} }
	return func(r *recipe) {
		withoutLease(r)
		// beat keeps a session alive until stop closes. What is over cannot be revived.
		beat := func(l *lock, h *hold, granted *atomic.Bool) {
			t := time.NewTicker(l.ttl / 3)
			defer t.Stop()
			for {
				select {
				case <-h.stop:
					return
				case <-t.C:
				}
				if alive, err := l.aside.do("SET", names(h.key)[1]+h.owner, 1, "XX", "PX", l.ttl.Milliseconds()); err == nil && alive == nil {
					if granted.Load() {
						write(answer{Event: "lost", Key: h.key})
					}
					return
				}
			}
		}
		join := func(l *lock, key string, granted *atomic.Bool) (*hold, error) {
			h := &hold{key: key, owner: l.owner(l), stop: make(chan struct{})}
			if _, err := l.db.script(lineUpScript, names(key), h.owner, l.ttl.Milliseconds()); err != nil {
				return nil, errNotSent // its place goes with its session
			}
			go beat(l, h, granted)
			return h, nil
		}
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			granted := &atomic.Bool{}
			h, err := join(l, key, granted)
			for err == nil {
				h.token, err = tokenOf(l.db.script(turnScript, names(key), h.owner, whose))
				switch {
				case err == nil && h.token > 0:
					granted.Store(true)
					return h, nil
				case err != nil && err != errTaken:
					close(h.stop)
					return nil, errNotSent
				case err == nil:
					close(h.stop)
					h, err = join(l, key, granted)
					continue
				}
				if err = nil; time.Now().After(end) {
					close(h.stop)
					_, _ = l.db.script(leaveLineScript, names(key), h.owner) // else its session ends
					return nil, errTimeout
				}
				nap()
			}
			return nil, err
		}
		r.released = func(_ *lock, h *hold) { close(h.stop) }
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(leaveLineScript, names(h.key), h.owner)))
		}
	}
}

func init() {
	plant(bug{
		name:  "outlived-place",
		about: "a fair lock on sessions that grants by a place in line whose own session has ended meanwhile",
		wrong: bySession("others"),
		right: bySession("own"),
	})
}
